/* See door.h. */
#include "door.h"
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Of one answer with its header. The largest, a list of 200 processes, has about 60 kB. */
#define ANSWER (1 << 20)
/* Milliseconds of the guest until an answer: more instructions than any takes. */
#define PATIENCE 60000
#define INITIALIZE \
  "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench-icount\",\"version\":\"1\"}}"

void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("icount failed: ");
  vprintf(format, arguments);
  printf("\n");
  fflush(stdout);
  va_end(arguments);
  exit(1);
}

static struct door opened(enum framing framing, int from, int to, int port, const char *path) {
  struct door door = {.framing = framing, .from = from, .to = to, .port = port, .path = path, .number = 1000000};
  door.buffer = malloc(ANSWER);
  if (!door.buffer) fail("no memory");
  return door;
}

struct door open_pipes(int from, int to) { return opened(LINES, from, to, 0, NULL); }

void close_door(struct door *door) {
  if (door->to != door->from) close(door->to);
  close(door->from);
  free(door->buffer);
}

struct door open_unix(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int end = socket(AF_UNIX, SOCK_STREAM, 0);
  snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
  if (connect(end, (struct sockaddr *)&address, sizeof(address))) fail("%s: %s", path, strerror(errno));
  return opened(LINES, end, end, 0, NULL);
}

struct door open_http(int port, const char *path) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int end = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  if (connect(end, (struct sockaddr *)&address, sizeof(address))) fail("port %d: %s", port, strerror(errno));
  setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return opened(HTTP, end, end, port, path);
}

struct door open_tls(int port, const char *path) {
  char where[32];
  int to[2], from[2];
  snprintf(where, sizeof(where), "127.0.0.1:%d", port);
  if (pipe(to) || pipe(from)) fail("pipe: %s", strerror(errno));
  if (!fork()) {
    dup2(to[0], 0);
    dup2(from[1], 1);
    for (int end = 3; end < 64; end++) close(end);
    execl("/usr/bin/openssl", "openssl", "s_client", "-quiet", "-connect", where, NULL);
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  return opened(HTTP, from[0], to[1], port, path);
}

void send_all(struct door *door, const char *bytes, size_t size) {
  while (size) {
    ssize_t sent = write(door->to, bytes, size);
    if (sent <= 0) fail("a request cannot be sent: %s", strerror(errno));
    bytes += sent;
    size -= sent;
  }
}

int comes(int from) {
  struct pollfd one = {.fd = from, .events = POLLIN};
  return poll(&one, 1, PATIENCE) > 0;
}

static void more(struct door *door) {
  if (!comes(door->from)) fail("no answer within %d ms", PATIENCE);
  ssize_t got = read(door->from, door->buffer + door->filled, ANSWER - 1 - door->filled);
  if (got <= 0) fail("no answer: %s", got ? strerror(errno) : "the connection was closed, or the answer is too long");
  door->filled += got;
  door->buffer[door->filled] = 0;
}

char *take(struct door *door, size_t size) {
  while (door->filled - door->used < size) more(door);
  door->used += size;
  return door->buffer + door->used - size;
}

char *until(struct door *door, const char *mark) {
  char *start = door->buffer + door->used, *found;
  if (door->used == door->filled) more(door);
  while (!(found = strstr(start, mark))) more(door);
  *found = 0;
  door->used = found + strlen(mark) - door->buffer;
  return start;
}

struct door open_websocket(int port, const char *path) {
  struct door door = open_http(port, path);
  char request[300];
  int size = snprintf(request, sizeof(request),
                      "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
                      path, port);
  send_all(&door, request, size);
  char *head = until(&door, "\r\n\r\n");
  if (!strstr(head, " 101 ")) fail("no WebSocket: %s", head);
  door.framing = WEBSOCKET;
  return door;
}

/* A text frame of RFC 6455, 5.2, masked with zeros. */
static void send_frame(struct door *door, const char *text, size_t size) {
  unsigned char head[8] = {0x81, 0x80 | size};
  size_t length = 2;
  if (size > 0xffff) fail("a request of %zu bytes", size);
  if (size > 125) {
    head[1] = 0x80 | 126;
    head[2] = size >> 8;
    head[3] = size;
    length = 4;
  }
  send_all(door, (char *)head, length + 4);
  send_all(door, text, size);
}

static char *take_frame(struct door *door) {
  unsigned char *head = (unsigned char *)take(door, 2);
  size_t size = head[1];
  if (head[0] != 0x81 || size > 127) fail("a WebSocket frame begins with %02x %02x", head[0], head[1]);
  if (size > 125) {
    int bytes = size == 126 ? 2 : 8;
    head = (unsigned char *)take(door, bytes);
    for (size = 0; bytes--; head++) size = size << 8 | *head;
  }
  return take(door, size);
}

static void post(struct door *door, const char *message, size_t size) {
  char request[8192], session[200] = "";
  if (door->session[0])
    snprintf(session, sizeof(session), "Mcp-Session-Id: %s\r\nMCP-Protocol-Version: 2025-11-25\r\n", door->session);
  int length = snprintf(request, sizeof(request),
                        "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
                        "Accept: application/json, text/event-stream\r\n%sContent-Length: %zu\r\n\r\n%s",
                        door->path, door->port, session, size, message);
  if (length >= (int)sizeof(request)) fail("a request of %zu bytes", size);
  send_all(door, request, length);
}

/* The body of a response, of one piece or of chunks (RFC 9112, 7.1), which are put together in place. */
static char *take_body(struct door *door) {
  char *head = until(door, "\r\n\r\n"), *body, *end, *field;
  int status = atoi(head + 9);
  if (status != 200 && status != 202) fail("HTTP: %s %s", head, door->buffer + door->used);
  if ((field = strcasestr(head, "\r\nmcp-session-id: "))) sscanf(field + 18, "%79[^\r]", door->session);
  if (!strcasestr(head, "\r\ntransfer-encoding: chunked")) {
    field = strcasestr(head, "\r\ncontent-length: ");
    return take(door, field ? strtoul(field + 18, NULL, 10) : 0);
  }
  body = end = door->buffer + door->used;
  for (;;) {
    size_t size = strtoul(until(door, "\r\n"), NULL, 16);
    memmove(end, take(door, size), size);
    end += size;
    until(door, "\r\n");
    if (!size) break;
  }
  *end = 0;
  return body;
}

/* Sends a message; nothing that was read before is kept. */
static void tell(struct door *door, const char *message, size_t size) {
  if (door->used != door->filled) fail("more than one answer: %.200s", door->buffer + door->used);
  door->used = door->filled = 0;
  if (door->framing == HTTP) {
    post(door, message, size);
  } else if (door->framing == WEBSOCKET) {
    send_frame(door, message, size);
  } else {
    send_all(door, message, size);
    send_all(door, "\n", 1);
  }
}

static char *answer(struct door *door) {
  if (door->framing == HTTP) return take_body(door);
  return door->framing == WEBSOCKET ? take_frame(door) : until(door, "\n");
}

const char *ask(struct door *door, const char *method, const char *params) {
  char message[4096], id[32];
  if (door->framing == BUS) return call_over_bus(door, method, params);
  int size = snprintf(message, sizeof(message), "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"%s\",\"params\":%s}", ++door->number,
                      method, params);
  snprintf(id, sizeof(id), "\"id\":%ld", door->number);
  tell(door, message, size);
  char *text = answer(door);
  if (!strstr(text, id)) fail("an answer to another request than %s: %.300s", id, text);
  return text;
}

const char *ask_well(struct door *door, const char *method, const char *params) {
  const char *text = ask(door, method, params);
  if ((door->framing != BUS && !strstr(text, "\"result\":")) || strstr(text, "\"isError\":true")) fail("%s %s: %.600s", method, params, text);
  return text;
}

void greet(struct door *door) {
  const char *notification = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";
  ask_well(door, "initialize", INITIALIZE);
  tell(door, notification, strlen(notification));
  if (door->framing == HTTP) take_body(door);
}
