"""Measures operating a machine, compared with other servers: processes, services and files of the container. See ./ci/bench.

Writes a part of docs/benchmarks.md. Interleaved in one run, one request in flight, every loop bounded.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from peers import Peers, our_environment, plain_stdio
from wire import Broken, Stdio, request_bytes

OURS, NODE, BUILD, OUTPUT = sys.argv[1:5]
QUICK = "--quick" in sys.argv[5:]
ROUNDS = 2 if QUICK else 5
PROCESSES = 200
SERVICE = "dbus.service"
FOLDER = tempfile.mkdtemp(prefix="bench-")
FILES = f"{FOLDER}/files"
FILE = f"{FILES}/4k.txt"
PEERS = Peers(NODE, BUILD)

# Nobody gets below it on the same computer.
BARE = "the system calls alone (ci/bench.d/nothing.c)"

# The measurements, and the required figures (ms, p50).
FIGURES = {
    "processes": (f"list of {PROCESSES} processes, as called without arguments", 3.0),
    "every": (f"all {PROCESSES} of them in one answer", 4.0),
    "services": ("list of services", 3.0),
    "status": ("status of one service, without its log", 1.0),
    "read": ("read of a 4 KiB file", 0.1),
}


def ours(folder):
    # Starting a job is a write, which the client that started the server may do only if configured.
    return Stdio([OURS, "serve", "--stdio", "--role", "admin"], our_environment(folder), folder)


def shell(command):
    return ("bash_execute", {"command": command})


# Ours, by figure.
CALLS = {
    "processes": ("process.list_processes", {}),
    "every": ("process.list_processes", {"limit": 1000}),
    "services": ("service.list_services", {"limit": 1000}),
    "status": ("service.get_status", {"service_name": SERVICE, "with_logs": False}),
    "read": ("files.read", {"path": FILE}),
}

# The other servers list all processes. raspi-mcp's first page has 100 processes, selected from all of them.
CONTENDERS = [
    ("raspi-mcp", ours, 300, CALLS),
    (BARE, plain_stdio("/usr/bin/nothing"), 300, {figure: CALLS[figure] for figure in ("processes", "every", "read")}),
    ("linux-mcp-server 1.7.0", PEERS.linux_mcp, 20, {
        "processes": ("list_processes", {"host": "localhost"}),
        "every": ("list_processes", {"host": "localhost"}),
        "services": ("list_services", {"host": "localhost"}),
        "status": ("get_service_status", {"service_name": SERVICE, "host": "localhost"}),
        "read": ("read_file", {"path": FILE, "host": "localhost"}),
    }),
    ("mcp-systemd-crunchtools 0.3.0", PEERS.crunchtools, 50, {
        "services": ("unit_list_tool", {"all_units": True, "pattern": "*.service"}),
        "status": ("unit_status_tool", {"unit_name": SERVICE}),
    }),
    ("desktop-commander 0.2.52", PEERS.desktop_commander, 20, {
        "processes": ("list_processes", {}),
        "every": ("list_processes", {}),
        "read": ("read_file", {"path": FILE}),
    }),
    ("server-filesystem 2026.8.31", lambda folder: PEERS.filesystem(FILES), 300, {"read": ("read_text_file", {"path": FILE})}),
    ("algony-mymcp 3.1 (HTTP, by its shell)", lambda folder: PEERS.mymcp(folder, "rw"), 50, {
        "processes": shell("ps aux"),
        "every": shell("ps aux"),
        "services": shell("systemctl list-units --type=service --all --no-pager"),
        "status": shell(f"systemctl status {SERVICE} --no-pager"),
        "read": ("read_file", {"file_path": FILE}),
    }),
]


def crowd():
    """Starts enough processes for a list, and returns their number."""
    missing = PROCESSES - sum(name.isdigit() for name in os.listdir("/proc"))
    # Each process has its own group and ends with this program.
    return [subprocess.Popen(["sleep", "3600"]) for _ in range(max(0, missing))]


def measure():
    """{contender: {figure: [ms, ...]}}, or its error message."""
    took = {name: {} for name, *_ in CONTENDERS}
    for name, open_it, calls, figures in CONTENDERS:
        folder = tempfile.mkdtemp(prefix="server-", dir=FOLDER)
        try:
            server = open_it(folder)
        except (Broken, OSError) as error:
            took[name] = {figure: str(error) for figure in figures}
            continue
        try:
            server.start()
            for figure, (tool, arguments) in figures.items():
                took[name][figure] = rounds(server, tool, arguments, calls)
        except (Broken, OSError) as error:
            print(f"  {name}: {error}", file=sys.stderr)
        finally:
            server.close()
    return took


def rounds(server, tool, arguments, calls):
    params = {"name": tool, "arguments": arguments}
    answer = server.request("tools/call", params)
    # A fast error is not a valid measurement.
    if "error" in answer or answer.get("result", {}).get("isError"):
        return json.dumps(answer)[:300]
    took, number = [], 2_000_000
    for _ in range(1 if QUICK else calls):
        number += 1
        payload = request_bytes("tools/call", params, number)
        at = time.perf_counter()
        server.ask(payload, number)
        took.append((time.perf_counter() - at) * 1e3)
    return took


def with_a_job():
    """Resident memory after mixed calls while a sampling job of 5 s runs, MiB."""
    folder = tempfile.mkdtemp(prefix="server-", dir=FOLDER)
    server = ours(folder)
    try:
        server.start()
        started = server.request("tools/call", {"name": "metrics.start_sampling_job", "arguments": {"interval_seconds": 5}})
        if "error" in started or started["result"].get("isError"):
            raise Broken(json.dumps(started)[:400])
        for n in range(300 if QUICK else 3_000):
            tool, arguments = list(CALLS.values())[n % len(CALLS)]
            server.request("tools/call", {"name": tool, "arguments": arguments})
        server.request("tools/call", {"name": "metrics.get_realtime_metrics", "arguments": {}})
        return server.process.rss_kib() / 1024
    finally:
        server.close()


def main():
    os.makedirs(FILES)
    with open(FILE, "w") as f:
        f.write(("a line of text that is sixty-three characters long, and an end\n" * 65)[:4096])
    # Configuration is read from /etc as on a device; this container belongs to the bench.
    with open("/etc/raspi-mcp/60-bench.toml", "w") as f:
        f.write(f'[tools]\nenable = ["system", "metrics"]\n\n[[files.roots]]\nname = "bench"\npath = "{FILES}"\n')
    others = crowd()
    try:
        took = {}
        for _ in range(ROUNDS):
            for name, figures in measure().items():
                for figure, times in figures.items():
                    if isinstance(times, str):
                        took.setdefault(name, {})[figure] = times
                    else:
                        took.setdefault(name, {}).setdefault(figure, []).extend(times)
        memory = with_a_job()
    finally:
        for other in others:
            other.kill()
            other.wait()
        shutil.rmtree(FOLDER, ignore_errors=True)
    return write(took, memory)


def cell(times):
    if times is None:
        return "-"
    if isinstance(times, str):
        return "failed"
    return f"{min(times):.2f} / {statistics.median(times):.2f}"


def ratios(took):
    both = [(words, took["raspi-mcp"].get(figure), took[BARE].get(figure)) for figure, (words, _) in FIGURES.items()]
    return "; ".join(f"{words}: {statistics.median(mine) / statistics.median(bare):.2f}"
                     for words, mine, bare in both if isinstance(mine, list) and isinstance(bare, list))


def write(took, memory):
    missed, goals = 0, []
    for figure, (words, wanted) in FIGURES.items():
        mine = took.get("raspi-mcp", {}).get(figure)
        if not isinstance(mine, list):
            print(f"raspi-mcp, {words}: {mine}", file=sys.stderr)
        p50 = statistics.median(mine) if isinstance(mine, list) else float("nan")
        others = [statistics.median(figures[figure]) for name, figures in took.items()
                  if name not in ("raspi-mcp", BARE) and isinstance(figures.get(figure), list)]
        best = min(others, default=float("nan"))
        met = p50 < wanted and p50 < best
        missed += not met
        goals.append(f"| {words}, p50, ms | {p50:.3f} | < {wanted} | {best:.3f} | {'met' if met else 'MISSED'} |")
    met = memory < 12
    missed += not met
    goals.append(f"| memory with a 5 s sampling job, MiB | {memory:.2f} | < 12 | - | {'met' if met else 'MISSED'} |")
    lines = [
        "## Operating a machine", "",
        f"In one container with a real systemd, over stdio, {PROCESSES} processes, {ROUNDS} rounds, interleaved; minimum / median in ms.", "",
        "| goal | measured | required | best peer | |", "| --- | --- | --- | --- | --- |", *goals, "",
        "| server | " + " | ".join(words for words, _ in FIGURES.values()) + " |", "| --- " * (len(FIGURES) + 1) + "|",
        *(f"| {name} | " + " | ".join(cell(took.get(name, {}).get(figure)) for figure in FIGURES) + " |"
          for name, *_ in CONTENDERS), "",
        f"raspi-mcp / the system calls alone, by medians: {ratios(took)}. No server of the same computer is faster than those.", "",
    ]
    for name, figures in took.items():
        for figure, times in figures.items():
            if isinstance(times, str):
                print(f"  {name}, {FIGURES[figure][0]}: {times}", file=sys.stderr)
    text = "\n".join(lines)
    with open(OUTPUT, "w") as f:
        f.write(text)
    print(text)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
