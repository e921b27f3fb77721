"""Records which functions a server and an agent execute, by QEMU's user mode: record.py FOLDER PROGRAM QEMU [ARGUMENT]...

Prints the names of the functions' symbols, as build.rs gives them to the linker. The program must have its symbols. Recorded are, on
a simulated board: the start of a server over stdio and over HTTP, the mix of calls that ci/bench measures memory with, and an agent
beside the second server.
"""

import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench.d"))

from mix import OUR_MIX
from peers import our_environment
from wire import Http, Stdio, free_port

# A symbol of v0's mangling (RFC 2603) has, of its crates, hashes that differ between compilers and machines, and references to
# what was said before by its place, which depends on the length of these hashes. In the old one, a hash is at its end.
HASHES = [(re.compile(r"Cs[0-9A-Za-z]+_"), "Cs*_"), (re.compile(r"B[0-9A-Za-z]*_"), "B*_"), (re.compile(r"17h[0-9a-f]{16}E"), "17h*E")]
# What LLVM and GCC add to the name of a function that they change, or of which there are several copies.
SUFFIX = re.compile(r"\.(llvm\.[0-9]+|[0-9]+|cold|part\.[0-9]+|isra\.[0-9]+|constprop\.[0-9]+)$")


def pattern(symbol):
    """A symbol as it is in the list."""
    while SUFFIX.search(symbol):
        symbol = SUFFIX.sub("", symbol)
    if symbol.startswith(("_R", "_ZN")):
        for found, wildcard in HASHES:
            symbol = found.sub(wildcard, symbol)
    return symbol


def aliases(program):
    """The names of each function that has several, since the linker folded functions with the same code."""
    places = {}
    for line in subprocess.run(["nm", "--defined-only", program], check=True, capture_output=True, text=True).stdout.splitlines():
        address, kind, name = line.split(maxsplit=2)
        # Marks of the assembler, such as $x, are no functions.
        if kind in "tTwW" and not name.startswith("$"):
            places.setdefault(address, []).append(name)
    return {name: names for names in places.values() for name in names}


class Recorder:
    def __init__(self, folder, program, *qemu):
        self.qemu, self.program, self.folder, self.logs = qemu, program, folder, []
        os.makedirs(folder, exist_ok=True)

    def command(self, *args):
        """The program with these arguments, with a log of what is executed."""
        self.logs.append(os.path.join(self.folder, f"executed-{len(self.logs)}.log"))
        return [*self.qemu, "-d", "in_asm", "-D", self.logs[-1], self.program, *args]

    def mix(self, server):
        server.start()
        for _ in range(20):
            for call in OUR_MIX:
                server.request(*call)
        for tool in ("system.get_health_snapshot", "system.get_basic_info"):
            server.request("tools/call", {"name": tool, "arguments": {}})
        server.close()

    def stdio(self):
        folder = os.path.join(self.folder, "stdio")
        self.mix(Stdio(self.command("serve", "--stdio"), our_environment(folder), folder))

    def both_halves(self):
        at = lambda name: os.path.join(self.folder, "both", name)
        os.makedirs(at("run"))
        with open(at("site.toml"), "w") as file:
            file.write('board = "simulated"\nagent = "socket"\n[limits]\nreads_per_minute = 60000\n')
            file.write(f'[socket]\npath = "{at("mcp.sock")}"\n[places]\nagent_socket = "{at("run/agent.sock")}"\n')
            for place, name in (("state_dir", "state"), ("runtime_dir", "run"), ("agent_state_dir", "agent")):
                file.write(f'{place} = "{at(name)}"\n')
        log = open(at("agent.log"), "w")
        agent = subprocess.Popen(self.command("agent", "--config", at("site.toml")), stderr=log)
        try:
            deadline = time.monotonic() + 60
            while not os.path.exists(at("run/agent.sock")):
                if agent.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"the agent did not start: see {log.name}")
                time.sleep(0.1)
            port = free_port()
            command = self.command("serve", "--http", f"127.0.0.1:{port}", "--config", at("site.toml"))
            self.mix(Http(command, port, dict(os.environ), at("")))
        finally:
            agent.terminate()
            agent.wait()

    def executed(self):
        names = set()
        for log in self.logs:
            with open(log, errors="replace") as file:
                names.update(line[4:].strip() for line in file if line.startswith("IN: "))
        names.discard("")
        return names


def main():
    recorder = Recorder(*sys.argv[1:])
    recorder.stdio()
    recorder.both_halves()
    others = aliases(recorder.program)
    executed = recorder.executed()
    if len(executed) < 1000:
        raise SystemExit(f"only {len(executed)} functions have a name: has the program its symbols?")
    # Those of the C library are not ours to place, and outlined code has numbers for names, which the next build gives anew.
    names = {alias for name in executed for alias in others.get(name, [])}
    print("\n".join(sorted({pattern(name) for name in names if not name.startswith("OUTLINED_FUNCTION")})))


main()
