/* A process of raspi-mcp: how it is started and ended, and what the kernel says of its processor time and its memory. */
#ifndef HALF_H
#define HALF_H
#include <sys/types.h>

enum user { ROOT = 0, SERVER = 990 };

struct half {
  pid_t pid;
  int log;       /* what it writes to its standard error, and reads back here */
  int from, to;  /* its standard output and input, for a server over stdio */
};

/* KiB, by /proc/PID/smaps_rollup. */
struct memory {
  long rss, pss, anonymous;
};

/* Starts it as that user and waits until its log contains the text; NULL: waits for nothing, and keeps its input and output. The
 * arguments end with NULL. */
struct half start(enum user user, const char *const arguments[], const char *ready);
/* Reads what is in its log by now, so that it never waits for us. */
void drain(struct half *half);
/* Ends it with SIGTERM, and waits. */
void stop(struct half *half);
/* Waits until it has ended by itself, which must be a success, and returns its processor time. */
long long ended(struct half *half);
/* Nanoseconds that all its threads have run, also those that ended: with -icount shift=0, instructions. */
long long processor_time(pid_t pid);
struct memory memory_of(pid_t pid);
#endif
