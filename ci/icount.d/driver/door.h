/* A connection to a server, over any of its transports, with one request in flight. Every failure ends the program with a message: a
 * figure of a call that failed would mean nothing. */
#ifndef DOOR_H
#define DOOR_H
#include <stddef.h>

enum framing { LINES, HTTP, WEBSOCKET, BUS };

struct door {
  enum framing framing;
  int from, to;      /* descriptors that are read and written */
  const char *path;  /* of an HTTP request */
  int port;          /* for the header Host */
  char session[80];  /* the value of the header Mcp-Session-Id, or nothing */
  long number;       /* the id of the last request */
  char *buffer;      /* what was read: `used` of `filled` bytes are consumed */
  size_t filled, used;
};

struct door open_pipes(int from, int to);
struct door open_unix(const char *path);
struct door open_http(int port, const char *path);
struct door open_websocket(int port, const char *path);
/* Through `openssl s_client`, whose processor time is counted nowhere. */
struct door open_tls(int port, const char *path);
/* The system bus at that socket, as root. There, a method is the name of a tool. */
struct door open_bus(const char *path);
void close_door(struct door *door);

/* initialize, and notifications/initialized. */
void greet(struct door *door);
/* A request and its answer, which may be an error. The text is good until the next request. */
const char *ask(struct door *door, const char *method, const char *params);
/* The same; an error, also one of a tool, ends the program. */
const char *ask_well(struct door *door, const char *method, const char *params);

/* Of bus.c, for `ask`. */
const char *call_over_bus(struct door *door, const char *tool, const char *arguments);

_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
#endif
