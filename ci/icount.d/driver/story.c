/* Measures both halves of raspi-mcp inside a guest that counts instructions, and prints a line for each figure: its name, and one value
 * for each round. Processor time is in instructions, memory in KiB. Started by /icount/start; ci/icount.d/guest.py reads the lines. */
#include "door.h"
#include "half.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM "/usr/bin/raspi-mcp"
#define ROUNDS 10
#define STARTS 3
/* Calls of one round. */
#define CALLS 30
#define SLOW_CALLS 1
#define MIXED 200
#define PROCESSES 200
/* So long that the jobs of each minute are in it thirty times. */
#define IDLE_SECONDS 1800
#define PORT 8765
#define TLS_PORT 8443
/* MiB of the images in /icount/update.bundle: ci/icount.d/card.py has the same number. */
#define INSTALL_MIB 12

#define CALL "tools/call"
#define INFO "{\"name\":\"system.get_basic_info\",\"arguments\":{}}"

/* Places of a server that runs beside the main one. */
#define PLACES(name) \
  "--set", "places.state_dir=/var/lib/raspi-mcp-" name, "--set", "places.runtime_dir=/run/raspi-mcp-" name

static struct half agent, server;

static void figure(const char *name, const long long values[], int count) {
  printf("figure %s", name);
  for (int at = 0; at < count; at++) printf(" %lld", values[at]);
  printf("\n");
  fflush(stdout);
}

static void one(const char *name, long long value) { figure(name, &value, 1); }

static void start_both(void) {
  agent = start(ROOT, (const char *const[]){PROGRAM, "agent", NULL}, "agent listening on");
  server = start(SERVER, (const char *const[]){PROGRAM, "serve", NULL}, "listening on http");
}

static void stop_both(void) {
  stop(&server);
  stop(&agent);
}

/* What a start begins beside the first answer may end before or after it: a second later all of it has ended. */
static void settle(void) {
  struct timespec second = {.tv_sec = 1};
  nanosleep(&second, NULL);
}

/* Both halves, from their start to the server's first answer and the second after it. The first start of all, which makes their folders, is not counted. */
static void starts(void) {
  long long of_agent[STARTS], of_server[STARTS], of_both[STARTS];
  for (int at = -1; at < STARTS; at++) {
    start_both();
    struct door door = open_http(PORT, "/mcp");
    greet(&door);
    settle();
    long long spent_agent = processor_time(agent.pid), spent_server = processor_time(server.pid);
    close_door(&door);
    stop_both();
    if (at < 0) continue;
    of_agent[at] = spent_agent;
    of_server[at] = spent_server;
    of_both[at] = spent_agent + spent_server;
  }
  figure("start_agent", of_agent, STARTS);
  figure("start_server", of_server, STARTS);
  figure("start_both", of_both, STARTS);
}

static struct half serve_stdio(void) {
  return start(SERVER, (const char *const[]){PROGRAM, "serve", "--stdio", PLACES("stdio"), NULL}, NULL);
}

static void starts_over_stdio(void) {
  long long took[STARTS];
  for (int at = -1; at < STARTS; at++) {
    struct half half = serve_stdio();
    struct door door = open_pipes(half.from, half.to);
    greet(&door);
    settle();
    if (at >= 0) took[at] = processor_time(half.pid);
    close_door(&door);
    stop(&half);
  }
  figure("start_stdio", took, STARTS);
}

/* Calls of that method in rounds, after one that is not counted; each must succeed. `params` are taken in turn. */
static void calls(const char *name, struct half *serves, struct door *door, const char *method, const char *const params[2], int count) {
  long long took[ROUNDS];
  ask_well(door, method, params[0]);
  for (int round = 0; round < ROUNDS; round++) {
    long long before = processor_time(serves->pid) + processor_time(agent.pid);
    for (int at = 0; at < count; at++) ask_well(door, method, params[at % 2]);
    took[round] = (processor_time(serves->pid) + processor_time(agent.pid) - before) / count;
    drain(serves);
    drain(&agent);
  }
  figure(name, took, ROUNDS);
}

static void same_calls(const char *name, struct half *serves, struct door *door, const char *method, const char *params, int count) {
  calls(name, serves, door, method, (const char *const[]){params, params}, count);
}

/* The mix of ci/bench: a session of an assistant, with valid and invalid calls. Then the memory of both halves. */
static void mixed_calls(void) {
  static const char *const mix[][2] = {
      {CALL, INFO},
      {CALL, "{\"name\":\"system.get_clock\",\"arguments\":{}}"},
      {"tools/list", "{}"},
      {CALL, "{\"name\":\"system.get_capabilities\",\"arguments\":{}}"},
      {"system.get_basic_info", "{}"},
      {CALL, "{\"name\":\"system.get_basic_info\",\"arguments\":{\"no_such_argument\":1}}"},
      {CALL, "{\"name\":\"no.such_tool\",\"arguments\":{}}"},
      {CALL, "{\"name\":\"manage.get_server_status\",\"arguments\":{}}"},
      {CALL, "{\"name\":\"logs.get_recent_app_logs\",\"arguments\":{\"limit\":5}}"},
      {CALL, "{\"name\":\"tools.search\",\"arguments\":{\"query\":\"health\"}}"},
  };
  int kinds = sizeof(mix) / sizeof(*mix);
  long long took[ROUNDS];
  struct door door = open_http(PORT, "/mcp");
  greet(&door);
  for (int round = 0; round < ROUNDS; round++) {
    long long before = processor_time(server.pid) + processor_time(agent.pid);
    for (int at = 0; at < MIXED / ROUNDS; at++) ask(&door, mix[at % kinds][0], mix[at % kinds][1]);
    took[round] = (processor_time(server.pid) + processor_time(agent.pid) - before) / (MIXED / ROUNDS);
    drain(&server);
    drain(&agent);
  }
  close_door(&door);
  figure("call_mixed", took, ROUNDS);
  struct memory of_server = memory_of(server.pid), of_agent = memory_of(agent.pid);
  one("server_rss", of_server.rss);
  one("server_pss", of_server.pss);
  one("server_anonymous", of_server.anonymous);
  one("server_file", of_server.rss - of_server.anonymous);
  one("agent_rss", of_agent.rss);
  one("agent_pss", of_agent.pss);
  one("agent_anonymous", of_agent.anonymous);
  one("agent_file", of_agent.rss - of_agent.anonymous);
  one("both_pss", of_server.pss + of_agent.pss);
}

/* One call over each transport of the main server, and one that the agent takes part in: process 1 is root's. */
static void doors(void) {
  struct door door = open_unix("/run/raspi-mcp/mcp.sock");
  greet(&door);
  same_calls("call_unix", &server, &door, CALL, INFO, CALLS);
  same_calls("call_agent", &server, &door, CALL, "{\"name\":\"process.get_process_details\",\"arguments\":{\"pid\":1}}", SLOW_CALLS);
  close_door(&door);
  door = open_http(PORT, "/mcp");
  greet(&door);
  same_calls("call_http", &server, &door, CALL, INFO, CALLS);
  close_door(&door);
  door = open_http(PORT, "/api/mcp");
  same_calls("call_http_bare", &server, &door, "system.get_basic_info", "{}", CALLS);
  close_door(&door);
  door = open_websocket(PORT, "/ws");
  greet(&door);
  same_calls("call_websocket", &server, &door, CALL, INFO, CALLS);
  close_door(&door);
}

static void door_with_tls(void) {
  struct half tls = start(SERVER,
                          (const char *const[]){PROGRAM, "serve", "--http", "127.0.0.1:8443", "--set", "tls.enabled=true", PLACES("tls"), NULL},
                          "listening on http");
  struct door door = open_tls(TLS_PORT, "/mcp");
  greet(&door);
  same_calls("call_tls", &tls, &door, CALL, INFO, CALLS);
  close_door(&door);
  stop(&tls);
}

/* A server that has its name on the bus. */
static void door_of_bus(void) {
  static const char address[] = "/run/dbus/system_bus_socket";
  /* It prints its address once it listens; so that the kernel keeps it for us, on its standard error. */
  struct half bus = start(ROOT, (const char *const[]){"/usr/bin/dbus-daemon", "--config-file=/icount/bus.conf", "--nofork", "--print-address=2", NULL},
                          "unix:path=");
  struct half half = start(SERVER,
                           (const char *const[]){PROGRAM, "serve", "--http", "127.0.0.1:8766", "--set", "dbus.serve=true", PLACES("bus"), NULL},
                           "serving org.raspimcp");
  struct door door = open_bus(address);
  same_calls("call_bus", &half, &door, "system.get_basic_info", "{}", CALLS);
  close_door(&door);
  stop(&half);
  stop(&bus);
}

/* Starts processes that only wait, until /proc has PROCESSES of them. They end with this program. */
static void crowd(void) {
  int missing = PROCESSES;
  DIR *all = opendir("/proc");
  for (struct dirent *entry; (entry = readdir(all));) missing -= entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
  closedir(all);
  while (missing-- > 0) {
    pid_t child = fork();
    if (child < 0) fail("no further process");
    if (!child) {
      for (;;) pause();
    }
  }
}

static void over_stdio(void) {
  struct half half = serve_stdio();
  struct door door = open_pipes(half.from, half.to);
  greet(&door);
  same_calls("call_stdio", &half, &door, CALL, INFO, CALLS);
  calls("write_pin", &half, &door, CALL,
        (const char *const[]){"{\"name\":\"gpio.write_pin\",\"arguments\":{\"pin\":5,\"value\":\"high\"}}",
                              "{\"name\":\"gpio.write_pin\",\"arguments\":{\"pin\":5,\"value\":\"low\"}}"},
        CALLS);
  crowd();
  same_calls("list_processes", &half, &door, CALL, "{\"name\":\"process.list_processes\",\"arguments\":{}}", SLOW_CALLS);
  same_calls("list_all_processes", &half, &door, CALL, "{\"name\":\"process.list_processes\",\"arguments\":{\"limit\":1000}}", SLOW_CALLS);
  close_door(&door);
  stop(&half);
}

/* A minute in which nobody asks for anything. */
static void idle(void) {
  struct timespec long_enough = {.tv_sec = IDLE_SECONDS};
  long long of_server = processor_time(server.pid), of_agent = processor_time(agent.pid);
  nanosleep(&long_enough, NULL);
  one("idle_server", (processor_time(server.pid) - of_server) * 60 / IDLE_SECONDS);
  one("idle_agent", (processor_time(agent.pid) - of_agent) * 60 / IDLE_SECONDS);
}

static void install(void) {
  long long before = processor_time(agent.pid);
  struct half command = start(ROOT, (const char *const[]){PROGRAM, "slot", "install", "/icount/update.bundle", "--yes", NULL}, NULL);
  long long of_command = ended(&command);
  one("install_command", of_command / INSTALL_MIB);
  one("install_agent", (processor_time(agent.pid) - before) / INSTALL_MIB);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  starts();
  start_both();
  mixed_calls();
  doors();
  idle();
  door_with_tls();
  door_of_bus();
  starts_over_stdio();
  over_stdio();
  install();
  stop_both();
  printf("figures end\n");
  return 0;
}
