/* See half.h. */
#include "half.h"

#include "door.h"
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Of a log while it starts. */
#define LOG (1 << 16)

static void become(enum user user) {
  gid_t groups[] = {user};
  if (user == ROOT) return;
  if (setgroups(1, groups) || setgid(user) || setuid(user)) _exit(126);
}

/* Waits for the text in its log. */
static void await(struct half *half, const char *name, const char *ready) {
  static char text[LOG];
  size_t filled = 0;
  text[0] = 0;
  while (!strstr(text, ready)) {
    ssize_t got = comes(half->log) ? read(half->log, text + filled, LOG - 1 - filled) : 0;
    if (got <= 0) fail("%s did not say \"%s\": %s", name, ready, text);
    filled += got;
    text[filled] = 0;
  }
}

struct half start(enum user user, const char *const arguments[], const char *ready) {
  struct half half = {.from = -1, .to = -1};
  int log[2], in[2], out[2], console = !ready;
  if (pipe2(log, O_CLOEXEC) || pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) fail("pipe: %s", strerror(errno));
  half.pid = fork();
  if (!half.pid) {
    if (console) {
      dup2(in[0], 0);
      dup2(out[1], 1);
    } else {
      int nothing = open("/dev/null", O_RDWR);
      dup2(nothing, 0);
      dup2(nothing, 1);
    }
    dup2(log[1], 2);
    become(user);
    execv(arguments[0], (char *const *)arguments);
    _exit(127);
  }
  close(log[1]);
  close(in[0]);
  close(out[1]);
  half.log = log[0];
  if (console) {
    half.from = out[0];
    half.to = in[1];
  } else {
    close(out[0]);
    close(in[1]);
    await(&half, arguments[1], ready);
  }
  fcntl(half.log, F_SETFL, O_NONBLOCK);
  return half;
}

void drain(struct half *half) {
  char text[4096];
  while (read(half->log, text, sizeof(text)) > 0) {
  }
}

void stop(struct half *half) {
  char text[4096];
  int status;
  kill(half->pid, SIGTERM);
  /* To the end of its log, so that it cannot wait for us. */
  fcntl(half->log, F_SETFL, 0);
  while (read(half->log, text, sizeof(text)) > 0) {
  }
  close(half->log);
  if (waitpid(half->pid, &status, 0) != half->pid) fail("waitpid: %s", strerror(errno));
  if (!WIFEXITED(status) || WEXITSTATUS(status)) fail("process %d ended with status %#x", half->pid, status);
}

long long ended(struct half *half) {
  siginfo_t how;
  static char text[LOG];
  size_t filled = 0;
  ssize_t got;
  fcntl(half->log, F_SETFL, 0);
  while ((got = read(half->log, text + filled, LOG - 1 - filled)) > 0) filled += got;
  text[filled] = 0;
  close(half->log);
  /* WNOWAIT: until it is waited for, its clock can be read. */
  if (waitid(P_PID, half->pid, &how, WEXITED | WNOWAIT)) fail("waitid: %s", strerror(errno));
  if (how.si_code != CLD_EXITED || how.si_status) fail("process %d ended with %d: %s", half->pid, how.si_status, text);
  long long took = processor_time(half->pid);
  waitpid(half->pid, NULL, 0);
  return took;
}

long long processor_time(pid_t pid) {
  clockid_t clock;
  struct timespec now;
  int error = clock_getcpuclockid(pid, &clock);
  if (error || clock_gettime(clock, &now)) fail("the clock of process %d: %s", pid, strerror(error ? error : errno));
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

struct memory memory_of(pid_t pid) {
  char path[40], line[200];
  struct memory memory = {0};
  snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
  FILE *file = fopen(path, "r");
  if (!file) fail("%s: %s", path, strerror(errno));
  while (fgets(line, sizeof(line), file)) {
    sscanf(line, "Rss: %ld", &memory.rss);
    sscanf(line, "Pss: %ld", &memory.pss);
    sscanf(line, "Anonymous: %ld", &memory.anonymous);
  }
  fclose(file);
  if (!memory.rss || !memory.pss || !memory.anonymous) fail("%s has no Rss, Pss or Anonymous", path);
  return memory;
}
