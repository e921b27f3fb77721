/* A server that does nothing: waits, reads, writes 900 bytes. What it costs is the kernel's, and nobody gets below it.
 * `nothing` answers lines on standard input and output; `nothing PORT` one HTTP connection after another on 127.0.0.1.
 * For calls of process.list_processes and files.read it makes the system calls which those tools cannot do without. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

static void look_into(int folder, const char *name) {
  static char contents[4096];
  int file = openat(folder, name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  if (read(file, contents, sizeof contents) < 0) exit(1);
  close(file);
}

/* Numbers of all processes; owners and arguments of the first `named`. */
static void list_processes(int named) {
  DIR *processes = opendir("/proc");
  struct stat status;
  char name[sizeof "/cmdline" + sizeof((struct dirent *)0)->d_name];
  if (!processes) exit(1);
  for (struct dirent *process; (process = readdir(processes));) {
    if (!isdigit(process->d_name[0])) continue;
    snprintf(name, sizeof name, "%s/stat", process->d_name);
    look_into(dirfd(processes), name);
    if (named-- <= 0) continue;
    fstatat(dirfd(processes), process->d_name, &status, AT_SYMLINK_NOFOLLOW);
    snprintf(name, sizeof name, "%s/cmdline", process->d_name);
    look_into(dirfd(processes), name);
  }
  closedir(processes);
}

static void do_the_least(void) {
  char *path = strstr(request, "\"path\":\"");
  if (strstr(request, "\"process.list_processes\"")) list_processes(strstr(request, "\"limit\":1000") ? 1000 : 100);
  if (path && strstr(request, "\"files.read\"")) {
    path += strlen("\"path\":\"");
    look_into(AT_FDCWD, strndupa(path, strcspn(path, "\"")));
  }
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
    do_the_least();
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
