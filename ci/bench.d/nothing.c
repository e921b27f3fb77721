/* A server that does nothing: waits, reads, writes 900 bytes. What it costs is the kernel's, and nobody gets below it.
 * `nothing` answers lines on standard input and output; `nothing PORT` one HTTP connection after another on 127.0.0.1. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static char request[1 << 16], answer[2048], padding[800];

/* The answer to the request in `request`, under its id (0 when it has none). */
static int make_answer(int http) {
  const char *id = strstr(request, "\"id\":");
  char body[1024];
  int length = snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"padding\":\"%s\"}}", id ? atol(id + 5) : 0, padding);
  if (!http) return snprintf(answer, sizeof answer, "%s\n", body);
  return snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s", length, body);
}

static void serve(int in, int out, int http) {
  int poll = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN};
  if (epoll_ctl(poll, EPOLL_CTL_ADD, in, &event)) exit(1);
  while (epoll_wait(poll, &event, 1, -1) == 1) {
    ssize_t count = read(in, request, sizeof request - 1);
    if (count <= 0) break;
    request[count] = 0;
    /* Notifications have no id and want no answer on a pipe. */
    if (!http && !strstr(request, "\"id\":")) continue;
    if (write(out, answer, make_answer(http)) < 0) break;
  }
  close(poll);
}

int main(int argc, char **argv) {
  memset(padding, 'x', sizeof padding - 1);
  if (argc < 2) {
    serve(0, 1, 0);
    return 0;
  }
  int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, (void *)&here, sizeof here) || listen(listener, 8)) return 1;
  for (int peer; (peer = accept(listener, 0, 0)) >= 0; close(peer)) {
    setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    serve(peer, peer, 1);
  }
}
