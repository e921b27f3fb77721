"""Calls a hostile agent's tools without pause for some seconds, and measures what others notice: prints the server's largest memory in KiB,
the 99th percentile of another caller's calls in milliseconds, and how many calls of a good agent failed. Within the container of ci/nspawn."""

import json
import socket
import subprocess
import sys
import threading
import time

SOCKET = "/run/raspi-mcp/mcp.sock"
TOOLS = ["notify", "values", "text", "garbage", "changed", "picture", "hang", "die", "endless"]


class Caller:
    def __init__(self):
        self.stream = socket.socket(socket.AF_UNIX)
        self.stream.connect(SOCKET)
        self.lines = self.stream.makefile("rb")

    def call(self, tool, **arguments):
        request = {"jsonrpc": "2.0", "id": 1, "method": tool, "params": arguments}
        self.stream.sendall(json.dumps(request).encode() + b"\n")
        return json.loads(self.lines.readline())


def main():
    seconds, ends = int(sys.argv[1]), time.monotonic() + int(sys.argv[1])
    process = subprocess.run(["systemctl", "show", "-P", "MainPID", "raspi-mcp"], capture_output=True, text=True, check=True).stdout.strip()
    done = {tool: 0 for tool in TOOLS}

    def attack(first):
        caller, at = Caller(), first
        while time.monotonic() < ends:
            tool = TOOLS[at % len(TOOLS)]
            caller.call(f"hostile.{tool}")
            done[tool] += 1
            at += 1

    largest = [0]

    def watch():
        while time.monotonic() < ends:
            with open(f"/proc/{process}/status") as status:
                for line in status:
                    if line.startswith("RssAnon:"):
                        largest[0] = max(largest[0], int(line.split()[1]))
            time.sleep(0.005)

    threads = [threading.Thread(target=attack, args=(n * 3,)) for n in range(3)] + [threading.Thread(target=watch)]
    for thread in threads:
        thread.start()
    caller, times, failed = Caller(), [], 0
    while time.monotonic() < ends:
        began = time.monotonic()
        caller.call("system.get_clock")
        times.append(time.monotonic() - began)
        failed += "result" not in caller.call("good.echo")
        time.sleep(0.2)
    for thread in threads:
        thread.join()
    times.sort()
    print(json.dumps({"anon_kib": largest[0], "p99_ms": round(1000 * times[int(len(times) * 0.99)], 1), "failed": failed, "calls": len(times),
                      "hostile": done, "seconds": seconds}))


main()
