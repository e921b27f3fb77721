// A link between two network namespaces, with a rate and a delay: what `tc qdisc add ... netem delay D rate R` does, on kernels without netem.
//
//   link NAMESPACE NAMESPACE BITS_PER_SECOND DELAY_MICROSECONDS QUEUE_MICROSECONDS
//
// Makes the interface `link` in each namespace (TUN, tun.c of the kernel's manual), prints "ready", and carries packets until it is
// killed. A packet leaves when those before it have left at the rate, and arrives after the delay. What would have to wait longer than
// QUEUE_MICROSECONDS is dropped, as a router does.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

// Ethernet's header, which a rate counts.
#define FRAME 14
#define MOST 1600
#define PLACES 65536

struct packet {
  long long at_ns;
  int length;
  char bytes[MOST];
};

struct direction {
  int from, to;
  long long free_ns;
  unsigned first, last;
  struct packet *queue;
};

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static long long now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int interface_in(const char *namespace) {
  char path[256];
  snprintf(path, sizeof path, "/var/run/netns/%s", namespace);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0 || setns(file, CLONE_NEWNET) < 0) fail(path);
  close(file);
  int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  struct ifreq wish = {.ifr_flags = IFF_TUN | IFF_NO_PI};
  strcpy(wish.ifr_name, "link");
  if (tun < 0 || ioctl(tun, TUNSETIFF, &wish) < 0) fail("/dev/net/tun");
  return tun;
}

int main(int count, char **words) {
  if (count != 6) {
    fprintf(stderr, "link NAMESPACE NAMESPACE BITS_PER_SECOND DELAY_MICROSECONDS QUEUE_MICROSECONDS\n");
    return 2;
  }
  long long rate = atoll(words[3]), delay_ns = atoll(words[4]) * 1000, queue_ns = atoll(words[5]) * 1000;
  // A late packet would be a slower link. Without the right to it, it is only less exact.
  (void)setpriority(PRIO_PROCESS, 0, -20);
  int one = interface_in(words[1]), two = interface_in(words[2]);
  struct direction ways[2] = {{.from = one, .to = two}, {.from = two, .to = one}};
  for (int way = 0; way < 2; way++) {
    ways[way].queue = malloc(PLACES * sizeof(struct packet));
    if (!ways[way].queue) fail("memory");
  }
  puts("ready");
  fflush(stdout);
  for (;;) {
    long long next = -1;
    for (int way = 0; way < 2; way++) {
      struct direction *it = &ways[way];
      for (;;) {
        struct packet *into = &it->queue[it->last % PLACES];
        ssize_t length = read(it->from, into->bytes, MOST);
        if (length <= 0) break;
        long long now = now_ns(), start = it->free_ns > now ? it->free_ns : now;
        if (start - now > queue_ns || it->last - it->first == PLACES - 1) continue;
        it->free_ns = start + (length + FRAME) * 8 * 1000000000LL / rate;
        into->length = (int)length;
        into->at_ns = it->free_ns + delay_ns;
        it->last++;
      }
      while (it->first != it->last && it->queue[it->first % PLACES].at_ns <= now_ns()) {
        struct packet *packet = &it->queue[it->first++ % PLACES];
        // An interface that is down takes nothing: then the packet is lost.
        if (write(it->to, packet->bytes, (size_t)packet->length) < 0) continue;
      }
      if (it->first != it->last && (next < 0 || it->queue[it->first % PLACES].at_ns < next))
        next = it->queue[it->first % PLACES].at_ns;
    }
    struct pollfd files[2] = {{.fd = one, .events = POLLIN}, {.fd = two, .events = POLLIN}};
    struct timespec wait = {0};
    if (next >= 0) {
      long long left = next - now_ns();
      if (left < 0) left = 0;
      wait.tv_sec = left / 1000000000LL;
      wait.tv_nsec = left % 1000000000LL;
    }
    ppoll(files, 2, next < 0 ? NULL : &wait, NULL);
  }
}
