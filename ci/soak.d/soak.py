"""Every tool by several clients at once, while things go wrong. See ci/soak."""

import argparse
import http.client
import json
import os
import random
import sys
import tempfile
import threading
import time

import board
import calls

CLIENTS = 4
# What a half may grow by, in KiB of private memory, between the third and the last quarter of a part: before, it comes to know its tools.
GROWTH_KIB = 2048
# Errors that a fault explains: the other half is gone, its queue is full, there is no room.
EXPLAINED = {"unavailable", "timeout", "cancelled", "resource_exhausted", "conflict"}


class Client(threading.Thread):
    """Calls all tools in a random order, over one connection; writes a file of its own that must not be lost."""

    def __init__(self, run, number):
        super().__init__(daemon=True)
        self.run_, self.number, self.random = run, number, random.Random(number)
        self.http, self.id, self.wrote, self.answers = None, 0, 0, 0

    def call(self, tool, arguments):
        self.id += 1
        body = json.dumps({"jsonrpc": "2.0", "id": self.id, "method": tool, "params": arguments})
        self.http = self.http or http.client.HTTPConnection("127.0.0.1", self.run_.board.server.port, timeout=60)
        self.http.request("POST", "/api/mcp", body, {"Content-Type": "application/json"})
        answer = json.loads(self.http.getresponse().read())
        if answer.get("id") != self.id:
            raise AssertionError(f"{tool} was answered with {answer}")
        self.answers += 1
        error = answer.get("error", {}).get("data", {}).get("error_code")
        self.run_.told(tool, error, answer.get("error", {}).get("message"))
        return error

    def run(self):
        while not self.run_.over.is_set():
            for tool, arguments, _ in self.random.sample(self.run_.tools, len(self.run_.tools)):
                if self.run_.over.is_set():
                    break
                try:
                    self.call(tool, arguments)
                    if self.id % 5 == 0:
                        self.write()
                except (OSError, http.client.HTTPException):
                    # A half was killed: the connection is made anew when it is there again.
                    self.http = None
                    self.run_.over.wait(0.05)


    def write(self):
        """One more write of its own file. What was sent may count; what was answered does."""
        number = self.wrote + 1
        content = str(number) + "\n" + "x" * 2000
        path = f"client-{self.number}.txt"
        if self.call("files.write", {"path": path, "overwrite": True, "content": content}) is None:
            self.wrote = number


class Run:
    def __init__(self, binary, folder):
        self.tools = calls.every()
        self.board = board.Board(binary, folder, self.tools)
        self.over, self.lock, self.faults, self.lives = threading.Event(), threading.Lock(), [], []
        # In the part of the run that is now: its name, and what each tool answered; `None` is no error.
        self.now, self.answered, self.errors = "undisturbed", {}, {}
        self.clients = [Client(self, number) for number in range(CLIENTS)]

    def told(self, tool, error, message):
        """An error is one that this board always answers, or that the fault of this part explains."""
        with self.lock:
            self.answered.setdefault(tool, set()).add(error)
            if error is None:
                return
            count = self.errors.setdefault(self.now, {}).setdefault(f"{tool} {error}", 0)
            self.errors[self.now][f"{tool} {error}"] = count + 1
            if error not in calls.EXPECTED.get(tool, set()) | (EXPLAINED if self.now != "undisturbed" else set()):
                self.fault(f"{self.now}: {tool} answered {error}: {message}")

    def fault(self, text):
        if text not in self.faults:
            self.faults.append(text)

    def live(self, seconds, name):
        """A part of the run without a new fault: neither half may grow."""
        until, seen = time.monotonic() + seconds, []
        self.now = name
        while time.monotonic() < until:
            time.sleep(min(1, seconds / 8))
            seen.append((self.board.server.figures(), self.board.agent.figures()))
        for half, which in enumerate(("server", "agent")):
            quarter = max(1, len(seen) // 4)
            first, last = ([figures[half][0] for figures in part] for part in (seen[-2 * quarter:-quarter], seen[-quarter:]))
            grown = min(last) - max(first or last)
            self.lives.append((name, which, min(last), grown, seen[-1][half][1], seen[-1][half][2]))
            if grown > GROWTH_KIB:
                self.fault(f"{name}: the {which} grew by {grown} KiB")

    def kill(self, which):
        half = getattr(self.board, which)
        half.kill()
        setattr(self.board, which, getattr(self.board, f"start_{which}")())

    def restart(self, is_early):
        """Both halves once more, perhaps ten years ago."""
        self.now = "both are started again"
        for which in ("server", "agent"):
            if getattr(self.board, which).end() != 0:
                self.fault(f"the {which} did not end well")
        self.board.is_early = is_early
        self.board.agent = self.board.start_agent()
        self.board.server = self.board.start_server()

    def kept(self):
        """What was answered is there."""
        for client in self.clients:
            try:
                with open(f"{self.board.folder}/files/client-{client.number}.txt") as f:
                    found = int(f.readline() or 0)
            except FileNotFoundError:
                found = 0
            # The one after the last answer may have been done without one.
            if not client.wrote <= found <= client.wrote + 1:
                self.fault(f"client {client.number} was told of write {client.wrote}, the file has {found}")

    def audit(self, when):
        verified = self.board.run("audit", "verify")
        if verified.returncode != 0:
            self.fault(f"{when}: the audit is not whole: {(verified.stdout + verified.stderr).strip()}")

    def all(self, seconds):
        part = seconds / 8
        for client in self.clients:
            client.start()
        self.live(part * 2, "undisturbed")
        for which in ("server", "agent", "server"):
            self.now = f"the {which} is killed"
            self.kill(which)
            self.live(part / 2, f"after the {which} was killed")
        missing = [tool for tool, _, _ in self.tools if tool not in self.answered]
        if missing:
            self.fault(f"never answered: {missing}")
        self.board.fill()
        self.live(part, "disk full")
        if not any(tool.startswith("files.write") for tool in self.errors.get("disk full", {})):
            self.fault("the disk was full, and every write was done")
        self.now = "disk with room again"
        self.board.empty()
        self.live(part, "disk with room again")
        self.restart(True)
        self.live(part, "ten years ago")
        self.restart(False)
        self.live(part, "the time is right again")
        self.over.set()
        for client in self.clients:
            client.join(90)
            if client.is_alive():
                self.fault(f"client {client.number} was not answered")
        self.kept()
        self.audit("at the end")
        for which in ("server", "agent"):
            if getattr(self.board, which).end() != 0:
                self.fault(f"the {which} did not end well")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="soak")
    run = Run(os.path.abspath(options.binary), folder)
    run.all(options.seconds)
    for name, which, private, grown, files, threads in run.lives:
        print(f"  {name:32} {which:6} {private / 1024:6.1f} MiB private, {grown:+6d} KiB, {files} files, {threads} threads")
    answers = sum(client.answers for client in run.clients)
    for part, errors in run.errors.items():
        print(f"  {part}: " + ", ".join(f"{count} {error}" for error, count in sorted(errors.items())))
    print(f"{answers} answers, {sum(client.wrote for client in run.clients)} files written and answered, {len(run.tools)} tools")
    if run.faults:
        sys.exit("FAILED:\n  " + "\n  ".join(run.faults))
    print("nothing grew, nothing was lost, and the audit is whole")


if __name__ == "__main__":
    main()
