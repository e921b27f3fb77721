"""What search, the bus and agents cost a server that has none of them configured, and one that has them, idle (see ci/bench-agents).

AFTER is measured in both ways, in turn with BEFORE, a program of an older commit, if there is one.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

# Seconds for which wake-ups are counted.
IDLE = int(os.environ.get("IDLE", "30"))
# Rounds in turn; the median counts.
ROUNDS = int(os.environ.get("ROUNDS", "3"))

CONFIGURED = """
[tools]
enable = ["vector"]
[[files.roots]]
name = "notes"
path = "{home}/notes"
index = true
[[agents]]
type = "talker"
kind = "mcp"
program = "/bin/true"
[agents.tools.echo]
tier = "fundamental"
"""


class Bus:
    """A dbus-daemon that anybody may use."""

    def __init__(self, home):
        self.address = f"unix:path={home}/bus"
        config = home / "bus.conf"
        config.write_text(
            f"<busconfig><type>system</type><listen>{self.address}</listen><policy context='default'><allow user='*'/>"
            "<allow own='*'/><allow send_destination='*'/><allow receive_sender='*'/></policy></busconfig>"
        )
        self.process = subprocess.Popen(
            ["dbus-daemon", f"--config-file={config}", "--nofork", "--nopidfile", "--print-address"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        self.process.stdout.readline()


class Server:
    def __init__(self, program, configured):
        self.folder = tempfile.TemporaryDirectory()
        home = pathlib.Path(self.folder.name)
        (home / "notes").mkdir()
        for number in range(200):
            (home / "notes" / f"{number}.md").write_text(f"# Note {number}\n\nThe pump of bed {number} runs at night.\n" * 5)
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self.bus = Bus(home)
        places = {"STATE_DIR": "state", "RUNTIME_DIR": "run", "AGENT_STATE_DIR": "agent", "AGENT_SOCKET": "agent.sock"}
        environment = {**os.environ, "RASPI_MCP__BOARD": "simulated", "DBUS_SYSTEM_BUS_ADDRESS": self.bus.address}
        for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
            environment[name] = str(home)
        for name, below in places.items():
            environment[f"RASPI_MCP__PLACES__{name}"] = str(home / below)
        config = home / "config.toml"
        config.write_text(CONFIGURED.format(home=home) if configured else "")
        if configured:
            environment["RASPI_MCP__DBUS__SERVE"] = "true"
        self.log = home / "log"
        self.process = subprocess.Popen(
            [program, "serve", "--config", str(config), "--http", self.url[7:]], env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(self.log, "wb"),
        )
        for _ in range(200):
            try:
                urllib.request.urlopen(self.url + "/healthz", timeout=5).read()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        raise SystemExit("the server did not start\n" + self.log.read_text())

    def proc(self, path):
        return pathlib.Path(f"/proc/{self.process.pid}/{path}")

    def wakes(self):
        """Voluntary context switches of each thread: each is one wait, and so one wake-up."""
        threads = {}
        for status in self.proc("task").glob("*/status"):
            for line in status.read_text().splitlines():
                if line.startswith("voluntary_ctxt_switches:"):
                    threads[status.parent.name] = int(line.split()[1])
        return threads

    def private_dirty(self):
        lines = self.proc("smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty:"))

    def descriptors(self, kind):
        found = 0
        for name in self.proc("fd").iterdir():
            try:
                found += kind in os.readlink(name)
            except OSError:
                pass
        return found

    def measure(self):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"limit": 200}}).encode()
        request = urllib.request.Request(self.url + "/api/mcp", body, {"Content-Type": "application/json"})
        listed = len(urllib.request.urlopen(request, timeout=20).read())
        time.sleep(5)
        before = self.wakes()
        time.sleep(IDLE)
        after = self.wakes()
        woken = sum(count - before.get(thread, 0) for thread, count in after.items())
        return [
            listed, self.private_dirty(), woken, len(after), self.descriptors("socket:"), self.descriptors("inotify"),
        ]

    def stop(self):
        for process in (self.process, self.bus.process):
            process.terminate()
            process.wait(20)
        self.folder.cleanup()


def main():
    after, before = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    ways = {"before": (before, False)} if before else {}
    ways |= {"nothing configured": (after, False), "index, bus and an agent": (after, True)}
    seen = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, (program, configured) in ways.items():
            server = Server(program, configured)
            seen[name].append(server.measure())
            server.stop()
    print(f"| | list, bytes | Private_Dirty, KiB | wake-ups in {IDLE} s | threads | sockets | inotify |\n| --- | --- | --- | --- | --- | --- | --- |")
    for name, values in seen.items():
        medians = [sorted(column)[len(column) // 2] for column in zip(*values)]
        print(f"| {name} | " + " | ".join(map(str, medians)) + " |")


main()
