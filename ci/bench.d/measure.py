"""Measures raspi-mcp and other servers, interleaved in one run, and writes the table: see ./ci/bench.

Everything stays on the loopback interface, one request in flight, and every loop is bounded.
"""

import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time

from mix import INFO, OUR_MIX
from peers import Peers, our_environment, plain_http, plain_stdio
from wire import Broken, Http, Stdio, free_port, request_bytes

OURS, NODE, BUILD, OUTPUT = sys.argv[1:5]
QUICK = "--quick" in sys.argv[5:]
STARTS = 3 if QUICK else 10
ROUNDS = 2 if QUICK else 5
IDLE_SECONDS = 3 if QUICK else 10
MIXED = 1_000 if QUICK else 10_000
HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = Peers(NODE, BUILD)

ECHO = ("tools/call", {"name": "echo", "arguments": {"message": "how are you"}})


class Server:
    """One server: how to start it, what to call, and the number of calls per round."""

    def __init__(self, name, door, open_it, call=None, calls=1_000, mixed=None, ours=False):
        self.name, self.door, self.open_it, self.call = name, door, open_it, call
        self.calls, self.mixed, self.ours = calls, mixed, ours
        self.start_ms, self.cpu_us, self.p50_ms = [], [], []
        self.rss_mib, self.rss_again_mib, self.wakeups, self.failed = None, None, None, None

        # Kept between starts, as on a machine; the first start, which creates it, is not counted.
        self.folder = tempfile.mkdtemp(prefix="bench-", dir=f"{BUILD}/bench")

    def open(self):
        return self.open_it(self.folder)


def ours_stdio(folder):
    return Stdio([OURS, "serve", "--stdio"], our_environment(folder), folder)


def ours_http(path="/mcp"):
    def open_it(folder):
        port = free_port()
        return Http([OURS, "serve", "--http", f"127.0.0.1:{port}"], port, our_environment(folder), folder, path)

    return open_it


ECHO_MIX = [ECHO, ("tools/list", {}), ECHO, ("tools/call", {"name": "no_such_tool", "arguments": {"message": "x"}})]

CONTENDERS = [
    Server("raspi-mcp", "stdio", ours_stdio, INFO, 10_000, OUR_MIX, True),
    Server("raspi-mcp", "HTTP /mcp", ours_http(), INFO, 10_000, OUR_MIX, True),
    Server("raspi-mcp", "HTTP /api/mcp, bare method", ours_http("/api/mcp"), ("system.get_basic_info", {}), 10_000, None, True),
    # The kernel's cost of waking, reading and writing, which the other figures include.
    Server("nothing (ci/bench.d/nothing.c)", "stdio", plain_stdio(f"{BUILD}/bench/nothing"), ECHO, 10_000),
    Server("nothing (ci/bench.d/nothing.c)", "HTTP", plain_http(f"{BUILD}/bench/nothing"), ECHO, 10_000),
    Server("TypeScript SDK 1.32.2 echo", "stdio", plain_stdio(NODE, f"{BUILD}/peers-npm/echo.mjs"), ECHO, 5_000, ECHO_MIX),
    Server("TypeScript SDK 1.32.2 echo", "HTTP /mcp", plain_http(NODE, f"{BUILD}/peers-npm/echo.mjs"), ECHO, 2_000, ECHO_MIX),
    Server("Python SDK 2.3.0 echo", "stdio", plain_stdio(f"{BUILD}/peers-py-sdk/bin/python", f"{HERE}/echo.py"), ECHO, 500),
    Server("Python SDK 2.3.0 echo", "HTTP /mcp", plain_http(f"{BUILD}/peers-py-sdk/bin/python", f"{HERE}/echo.py"), ECHO, 500),
    Server("server-filesystem 2026.8.31", "stdio", PEERS.filesystem,
           ("tools/call", {"name": "list_allowed_directories", "arguments": {}}), 500),
    Server("desktop-commander 0.2.52", "stdio", PEERS.desktop_commander,
           ("tools/call", {"name": "list_sessions", "arguments": {}}), 200),
    Server("linux-mcp-server 1.7.0", "stdio", PEERS.linux_mcp,
           ("tools/call", {"name": "get_system_information", "arguments": {"host": "localhost"}}), 20),
    Server("mcp-systemd-crunchtools 0.3.0", "stdio", PEERS.crunchtools, ("tools/list", {}), 50),
    Server("algony-mymcp 3.1", "HTTP /mcp", PEERS.mymcp, ("tools/list", {}), 500),
]


def must(answer):
    """A measured call must succeed: a fast error is not a valid measurement."""
    if "error" in answer or answer.get("result", {}).get("isError"):
        raise Broken(f"the measured call failed: {json.dumps(answer)[:400]}")
    return answer


def measure_start(server):
    before = time.monotonic()
    opened = server.open()
    try:
        opened.start()
        return (time.monotonic() - before) * 1e3
    finally:
        opened.close()


def measure_calls(server, opened):
    """One round: CPU time per call by the scheduler's clock, and the median time to the answer, measured by the client."""
    method, params = server.call
    number = 1_000_000
    must(opened.request(method, params))
    payloads = []
    for _ in range(server.calls):
        number += 1
        payloads.append((request_bytes(method, params, number), number))
    took, before = [], opened.process.cpu_seconds()
    for payload, number in payloads:
        at = time.perf_counter()
        opened.ask(payload, number)
        took.append(time.perf_counter() - at)
    server.cpu_us.append((opened.process.cpu_seconds() - before) / server.calls * 1e6)
    server.p50_ms.append(statistics.median(took) * 1e3)
    must(opened.request(method, params))


def mixed_calls(server, opened, count):
    for n in range(count):
        if server.ours and n % 2_000 == 1_999:
            opened.request("tools/call", {"name": "system.get_health_snapshot", "arguments": {}})
        else:
            opened.request(*server.mixed[n % len(server.mixed)])


def attempt(server, what, step):
    """A failure of another server is reported; a failure of ours is fatal."""
    if server.failed:
        return
    try:
        step()
    except (Broken, OSError, ValueError) as error:
        server.failed = f"{what}: {error}"
        print(f"  {server.name} over {server.door}: {server.failed}", file=sys.stderr)


def measure():
    print(f"start to first answer, {STARTS} times each")
    for server in CONTENDERS:
        attempt(server, "start", lambda: measure_start(server))
    for _ in range(STARTS):
        for server in CONTENDERS:
            attempt(server, "start", lambda: server.start_ms.append(measure_start(server)))

    opened = {}
    for server in CONTENDERS:

        def start():
            opened[server] = server.open()
            opened[server].start()

        attempt(server, "open", start)
    try:
        for n in range(ROUNDS):
            print(f"calls, round {n + 1} of {ROUNDS}")
            for server in CONTENDERS:
                attempt(server, "calls", lambda: measure_calls(server, opened[server]))

        print(f"idle for {IDLE_SECONDS} s")
        time.sleep(2)  # what the calls left behind settles: batches flush, garbage collectors run
        before = {server: opened[server].process.wakeups() for server in opened if not server.failed}
        time.sleep(IDLE_SECONDS)
        for server, count in before.items():
            server.wakeups = (opened[server].process.wakeups() - count) / IDLE_SECONDS

        print(f"memory after {MIXED} mixed calls, and again after {2 * MIXED}")
        for server in CONTENDERS:
            if server.mixed:
                attempt(server, "mixed calls", lambda: mixed_calls(server, opened[server], MIXED))
            if not server.failed:
                server.rss_mib = opened[server].process.rss_kib() / 1024
            if server.mixed:
                attempt(server, "mixed calls", lambda: mixed_calls(server, opened[server], MIXED))
                if not server.failed:
                    server.rss_again_mib = opened[server].process.rss_kib() / 1024
    finally:
        for server in opened:
            opened[server].close()
        for server in CONTENDERS:
            shutil.rmtree(server.folder, ignore_errors=True)


def number(values, digits, pick):
    return f"{pick(values):.{digits}f}" if values else "-"


def both(values, digits):
    return f"{number(values, digits, min)} / {number(values, digits, statistics.median)}"


def table():
    rows = [
        "| server | over | start to first answer, ms | CPU per call, µs | p50 per call, ms | memory, MiB | after as many further calls | idle wake-ups per second |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for s in CONTENDERS:
        if s.failed:
            rows.append(f"| {s.name} | {s.door} | failed: {s.failed} | | | | | |")
            continue
        memory = f"{s.rss_mib:.1f}" if s.rss_mib is not None else "-"
        again = f"{s.rss_again_mib:.1f}" if s.rss_again_mib is not None else "-"
        rows.append(
            f"| {s.name} | {s.door} | {both(s.start_ms, 1)} | {both(s.cpu_us, 1)} | {both(s.p50_ms, 3)} | {memory} | {again} | {s.wakeups:.1f} |"
        )
    return rows


def find(name, door):
    return next(s for s in CONTENDERS if s.name.startswith(name) and s.door == door)


def goals():
    stdio, http = find("raspi-mcp", "stdio"), find("raspi-mcp", "HTTP /mcp")
    ts_stdio, ts_http = find("TypeScript", "stdio"), find("TypeScript", "HTTP /mcp")
    median, beyond = statistics.median, beyond_nothing()
    wanted = [
        ("start to first answer, stdio, ms", lambda: median(stdio.start_ms), 10, "< 10"),
        ("memory after mixed calls, stdio, MiB", lambda: stdio.rss_mib, 12, "< 12"),
        ("memory after mixed calls, HTTP, MiB", lambda: http.rss_mib, 12, "< 12"),
        ("memory growth during as many further calls, stdio, MiB", lambda: stdio.rss_again_mib - stdio.rss_mib, 0.3, "none (< 0.3)"),
        ("memory growth during as many further calls, HTTP, MiB", lambda: http.rss_again_mib - http.rss_mib, 0.3, "none (< 0.3)"),
        ("idle wake-ups per second, stdio", lambda: stdio.wakeups, 0.05, "none"),
        ("idle wake-ups per second, HTTP", lambda: http.wakeups, 0.05, "none"),
        ("CPU per call over HTTP / TypeScript SDK's echo", lambda: median(http.cpu_us) / median(ts_http.cpu_us),
         float("inf") if beyond < 12 else 0.12, f"<= 0.12, or < 12 µs beyond `nothing`: {beyond:.1f}"),
        ("CPU per call over stdio / TypeScript SDK's echo", lambda: median(stdio.cpu_us) / median(ts_stdio.cpu_us), 0.5, "<= 0.50"),
        ("p50 over stdio, ms", lambda: median(stdio.p50_ms), 0.2, "< 0.2"),
        ("arm64 release (stripped), MB", lambda: os.path.getsize(os.path.join(BUILD, "cross", "aarch64", "raspi-mcp")) / 1e6, 24, "< 24"),
    ]
    rows, missed = ["| goal | measured | required | |", "| --- | --- | --- | --- |"], 0
    for what, value, limit, words in wanted:
        try:
            measured = value()
            met = measured <= limit
            shown = f"{measured:.3f}"
        except (TypeError, statistics.StatisticsError, ZeroDivisionError):
            met, shown = False, "not measured"
        missed += not met
        rows.append(f"| {what} | {shown} | {words} | {'met' if met else 'MISSED'} |")
    return rows, missed


def beyond_nothing():
    """Microseconds of CPU of a call over HTTP that are not the kernel's fixed cost; infinite if they were not measured."""
    try:
        return statistics.median(find("raspi-mcp", "HTTP /mcp").cpu_us) - statistics.median(find("nothing", "HTTP").cpu_us)
    except statistics.StatisticsError:
        return float("inf")


def above_nothing(ours, echo, nothing):
    """The ratio after the kernel's fixed cost is subtracted on both sides."""
    least = statistics.median(nothing.cpu_us)
    return (statistics.median(ours.cpu_us) - least) / (statistics.median(echo.cpu_us) - least)


def beyond_the_kernel():
    shares = []
    for ours, other in (("stdio", "stdio"), ("HTTP /mcp", "HTTP")):
        try:
            share = above_nothing(find("raspi-mcp", ours), find("TypeScript", ours), find("nothing", other))
            shares.append(f"{share:.2f} over {other}")
        except (statistics.StatisticsError, ZeroDivisionError):
            shares.append(f"not measured over {other}")
    return f"After subtracting the CPU time of `nothing`, raspi-mcp / TypeScript SDK's echo is {', '.join(shares)}."


def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith(("model name", "Model")):
                model = line.split(":", 1)[1].strip()
                break
    return f"{os.cpu_count()} cores of {model}, Linux {platform.release()}"


def main():
    measure()
    goal_rows, missed = goals()
    text = "\n".join([
        "# Benchmarks", "",
        "How fast it is beside other MCP servers, and how much memory (RAM) and processor time the server itself needs.", "",
        "Written by `./ci/bench`; do not edit. All servers are measured in one run, interleaved, with one request in flight. Two figures are minimum / median.", "",
        f"On {time.strftime('%Y-%m-%d', time.gmtime())}: {machine()}. {STARTS} starts, {ROUNDS} rounds of calls,"
        f" {MIXED} mixed calls where a second memory figure is given, {IDLE_SECONDS} s idle.", "",
        "## Goals", "", *goal_rows, "", beyond_the_kernel(), "", "## Side by side", "", *table(), "",
        "- Every server keeps its folder between starts; the first start, which creates it, is not counted.",
        "- `nothing` returns a constant: its CPU time is the kernel's cost of waking, reading and writing, which all other figures include.",
        "- CPU is user plus system time of all threads and child processes, by the scheduler's clock; memory is their VmRSS.",
        "- raspi-mcp is measured with `system.get_basic_info`, the SDKs with an echo of eleven bytes, the others with their cheapest call.",
        "- raspi-mcp's mixed calls are reads, lists, searches, bare methods, refused arguments and unknown tools, all audited.",
        "- p50 is measured by the Python client and includes its own time. Wake-ups are voluntary context switches.",
        "- Idle is measured on the simulated board, without sampling. The default job of a service on a real board"
        " (`metrics.default_job`) adds one wake-up per minute: 21 voluntary context switches in 305 s, and none without the job.", "",
    ])
    with open(OUTPUT, "w") as f:
        f.write(text)
    print(text)
    ours_failed = [s.failed for s in CONTENDERS if s.ours and s.failed]
    return 1 if missed or ours_failed else 0


if __name__ == "__main__":
    sys.exit(main())
