/* Calls of a tool over the system bus: as little of the D-Bus specification's wire format as one call takes, in this machine's byte order
 * (little-endian). See door.h. */
#include "door.h"
#include "wire.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum type { METHOD_CALL = 1, METHOD_RETURN = 2, ERROR = 3, SIGNAL = 4 };
enum field { PATH = 1, INTERFACE = 2, MEMBER = 3, DESTINATION = 6, SIGNATURE = 8 };

struct writing {
  char bytes[8192];
  size_t at;
};

static void align(struct writing *to, size_t by) {
  while (to->at % by) to->bytes[to->at++] = 0;
}

static void put_number(struct writing *to, uint32_t value) {
  align(to, 4);
  memcpy(to->bytes + to->at, &value, 4);
  to->at += 4;
}

static void put_text(struct writing *to, const char *text) {
  size_t size = strlen(text);
  if (to->at + size + 64 > sizeof(to->bytes)) fail("a call of %zu bytes", size);
  put_number(to, size);
  memcpy(to->bytes + to->at, text, size + 1);
  to->at += size + 1;
}

static void put_signature(struct writing *to, const char *signature) {
  to->bytes[to->at++] = strlen(signature);
  strcpy(to->bytes + to->at, signature);
  to->at += strlen(signature) + 1;
}

static void put_field(struct writing *to, enum field field, const char *type, const char *value) {
  align(to, 8);
  to->bytes[to->at++] = field;
  put_signature(to, type);
  if (field == SIGNATURE) {
    put_signature(to, value);
  } else {
    put_text(to, value);
  }
}

/* Signals may have come behind the last answer: they are read with the next one. */
static void keep_rest(struct door *door) {
  door->filled -= door->used;
  memmove(door->buffer, door->buffer + door->used, door->filled);
  door->used = 0;
}

/* Sends a method call with this body, and returns the body of its answer. */
static char *call(struct door *door, const char *const names[4], const char *signature, const struct writing *body) {
  struct writing message = {.bytes = {'l', METHOD_CALL, 0, 1}, .at = 4};
  put_number(&message, body->at);
  put_number(&message, ++door->number);
  put_number(&message, 0);
  put_field(&message, DESTINATION, "s", names[0]);
  put_field(&message, PATH, "o", names[1]);
  put_field(&message, INTERFACE, "s", names[2]);
  put_field(&message, MEMBER, "s", names[3]);
  if (*signature) put_field(&message, SIGNATURE, "g", signature);
  uint32_t fields = message.at - 16;
  memcpy(message.bytes + 12, &fields, 4);
  align(&message, 8);
  if (message.at + body->at > sizeof(message.bytes)) fail("a call of %zu bytes", body->at);
  memcpy(message.bytes + message.at, body->bytes, body->at);
  keep_rest(door);
  send_all(door, message.bytes, message.at + body->at);
  for (;;) {
    uint32_t length, after;
    char *head = take(door, 16);
    enum type type = head[1];
    memcpy(&length, head + 4, 4);
    memcpy(&after, head + 12, 4);
    take(door, (after + 7) / 8 * 8);
    char *answer = take(door, length);
    if (type == METHOD_RETURN) return answer;
    if (type != SIGNAL) fail("the bus answers %s with an error: %.300s", names[3], length > 4 ? answer + 4 : "");
  }
}

struct door open_bus(const char *path) {
  struct door door = open_unix(path);
  struct writing nothing = {.at = 0};
  /* SASL's EXTERNAL, for user 0 in hexadecimal digits of its text. */
  send_all(&door, "\0AUTH EXTERNAL 30\r\n", 19);
  char *answer = until(&door, "\r\n");
  if (strncmp(answer, "OK ", 3)) fail("the bus says %s", answer);
  send_all(&door, "BEGIN\r\n", 7);
  door.framing = BUS;
  call(&door, (const char *const[]){"org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello"}, "", &nothing);
  return door;
}

const char *call_over_bus(struct door *door, const char *tool, const char *arguments) {
  struct writing body = {.at = 0};
  put_text(&body, tool);
  put_text(&body, arguments);
  /* No options: an empty array, whose elements would begin at a multiple of eight. */
  put_number(&body, 0);
  align(&body, 8);
  return call(door, (const char *const[]){"org.raspimcp", "/org/raspimcp", "org.raspimcp.Tools1", "Call"}, "ssa{sv}", &body) + 4;
}
