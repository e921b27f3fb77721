"""An unprivileged caller at full speed, and its effect on other callers. See ci/flood."""

import argparse
import hashlib
import http.client
import json
import multiprocessing
import os
import pty
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

import means

LIMIT_MIB = 40
# Root's commands, with the start of their process.
CONSOLE_SECONDS = 1
# Of reading, when the flood is over.
AFTERWARDS = 10
NOBODY = 65534
# Addresses of a network of this program's own: the device's, a stranger's, and a person's.
DEVICE, STRANGER, PHONE = "10.99.0.1", "10.99.1.1", "10.99.2.1"
# The end of a line that asks for an answer.
QUESTION = (":", "?", "]", ">")


class Server:
    """A server in its own folder, with two callers that have tokens."""

    def __init__(self, binary, folder, tls):
        self.binary, self.folder, self.tls = binary, folder, tls
        self.tokens = {"reader": "rmcp_" + "A" * 43, "asker": "rmcp_" + "B" * 43}
        self.tokens |= {f"flood{number}": "rmcp_" + str(number) * 43 for number in range(4)}
        config = os.path.join(folder, "site.toml")
        with open(config, "w") as f:
            for name in self.tokens:
                role = "read_only" if name == "reader" else "ops_rw"
                sha256 = hashlib.sha256(self.tokens[name].encode()).hexdigest()
                f.write(f'[[access.tokens]]\nname = "{name}"\nrole = "{role}"\nsha256 = "{sha256}"\n')
            f.write('[tools]\nenable = ["gpio"]\n[policy]\n"gpio.write_pin" = "ask"\n')
        at = lambda name: os.path.join(folder, name)
        self.env = dict(
            os.environ, RASPI_MCP__BOARD="simulated", RASPI_MCP__AGENT="inprocess",
            RASPI_MCP__PLACES__STATE_DIR=at("state"), RASPI_MCP__PLACES__RUNTIME_DIR=at("run"),
            RASPI_MCP__PLACES__AGENT_STATE_DIR=at("agent"), RASPI_MCP__PLACES__AGENT_SOCKET=at("run/agent.sock"),
            RASPI_MCP__SOCKET__PATH=at("mcp.sock"),
        )
        self.config, self.socket = config, at("mcp.sock")
        if tls:
            with open(config, "a") as f:
                f.write(f'[tls]\nenabled = true\ncertificate = "{at("certificate.pem")}"\nkey = "{at("key.pem")}"\n')
            made = self.run("tls", "init")
            if made.returncode != 0:
                sys.exit(f"no certificate: {made.stderr}")
        self.page = self.page_child = None
        self.child = subprocess.Popen(
            [binary, "serve", "--http", "127.0.0.1:0", "--config", config], env=self.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        self.port, lines = None, []
        for line in self.child.stderr:
            lines.append(line)
            found = re.search(r"listening on https?://127\.0\.0\.1:(\d+)", line)
            self.port = int(found.group(1)) if found else self.port
            if "mcp.sock" in line:
                break
        if not self.port:
            sys.exit("the server did not start:\n" + "".join(lines))
        self.log = open(at("server.log"), "w")
        threading.Thread(target=lambda: [self.log.write(line) for line in self.child.stderr], daemon=True).start()

    def serve_page(self):
        """Starts the approval page on the address that is the device's own here."""
        self.page = (DEVICE, 8444)
        folder = os.path.join(self.folder, "page")
        command = [self.binary, "approval-page", "--config", self.config, "--listen", f"{DEVICE}:8444", "--folder", folder]
        self.page_child = subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = self.page_child.stderr.readline()
        if "listens on" not in said:
            sys.exit(f"the approval page did not start: {said}{self.page_child.stderr.read()}")
        threading.Thread(target=lambda: [None for _ in self.page_child.stderr], daemon=True).start()

    def run(self, *args):
        return subprocess.run([self.binary, *args, "--config", self.config], env=self.env, capture_output=True, text=True)

    def memory_mib(self, field, child=None):
        with open(f"/proc/{(child or self.child).pid}/status") as f:
            return int(re.search(rf"{field}:\s+(\d+)", f.read()).group(1)) / 1024


class Caller:
    """A caller with a token, on a persistent connection."""

    def __init__(self, server, name):
        self.server, self.name, self.http, self.id = server, name, None, 0

    def call(self, tool, arguments, wait=30):
        """Returns the answer and its time in seconds."""
        self.id += 1
        body = json.dumps({"jsonrpc": "2.0", "id": self.id, "method": tool, "params": arguments})
        headers = {"Content-Type": "application/json", "Authorization": "Bearer " + self.server.tokens[self.name]}
        started = time.monotonic()
        for last in (False, True):
            if self.http is None:
                self.http = means.Place(self.server.port, None, self.server.tls).http(wait)
            try:
                self.http.request("POST", "/api/mcp", body, headers)
                return json.loads(self.http.getresponse().read()), time.monotonic() - started
            except (OSError, http.client.HTTPException):
                # The server may have closed an idle connection for another one: HTTP clients reconnect.
                self.http.close()
                self.http = None
                if last:
                    raise


def person(server, stop, answered, now, seconds, slowest):
    """Approves every request on a terminal, after its question appeared. `seconds`: from the key to the agent's answer."""
    while not stop.is_set():
        listed = server.run("approve", "--list").stdout
        if "gpio.write_pin" not in listed:
            stop.wait(0.2)
            continue
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(server.binary, [server.binary, "approve", "--config", server.config], server.env)
        text, deadline, typed, approved = "", time.monotonic() + 20, None, 0
        while time.monotonic() < deadline:
            if not select.select([terminal], [], [], 1)[0]:
                # Input that arrives together with the question is discarded, and a program types that fast.
                # The terminal echoes the input.
                if text.rstrip("y\r\n ").endswith(QUESTION):
                    typed = time.monotonic()
                    os.write(terminal, b"y\n")
                continue
            try:
                more = os.read(terminal, 4096).decode(errors="replace")
            except OSError:
                break
            text += more
            if typed and text.count("approved: good for") > approved:
                approved, took = text.count("approved: good for"), time.monotonic() - typed
                seconds.append(took)
                slowest[now.value] = max(slowest[now.value], took)
                typed = None
            if text.rstrip().endswith(QUESTION):
                typed = time.monotonic()
                os.write(terminal, b"y\n")
        os.close(terminal)
        os.waitpid(pid, 0)
        answered.append(text)


def visitor(server, until, now, took, slowest, failed):
    """A person's phone, in another network than the stranger: opens the approval page on a connection of its own each time."""
    while time.monotonic() < until:
        started = time.monotonic()
        try:
            with socket.create_connection(server.page, 5, (PHONE, 0)) as s, means.unverified().wrap_socket(s) as tls:
                tls.sendall(f"GET / HTTP/1.1\r\nHost: {DEVICE}:8444\r\nConnection: close\r\n\r\n".encode())
                if not tls.recv(64).startswith(b"HTTP/1.1 200"):
                    failed.append("not 200")
        except OSError as error:
            failed.append(str(error))
        seconds = time.monotonic() - started
        took.append(seconds)
        slowest[now.value] = max(slowest[now.value], seconds)
        time.sleep(1)


def asker(server, stop, asked):
    """Repeatedly makes a call that needs approval."""
    caller = Caller(server, "asker")
    while not stop.is_set():
        try:
            answer, seconds = caller.call("gpio.write_pin", {"pin": 17, "value": "high"}, wait=90)
        except (OSError, http.client.HTTPException) as error:
            answer, seconds = {"error": {"message": str(error)}}, 0
        # Root halts the machine now and then.
        # A halt answers no to what waits.
        if not any(word in json.dumps(answer.get("error")) for word in ("halted", "root said no")):
            asked.append((answer.get("error"), seconds))
        stop.wait(5)


def console(server, until, now, took, slowest, failed):
    """Root's commands at the machine, each in a process of its own: a halt and its end, its state, the asks, and a call."""
    halted = 0
    while time.monotonic() < until:
        commands = [("halt", "--status"), ("approve", "--list"), ("call", "system.get_clock", "--json", "--socket", server.socket)]
        if time.monotonic() > halted + 15:
            halted = time.monotonic()
            commands = [("halt", "--reason", "flood"), ("halt", "--lift"), *commands]
        for command in commands:
            started = time.monotonic()
            ended = server.run(*command)
            seconds = time.monotonic() - started
            took.append(seconds)
            slowest[now.value] = max(slowest[now.value], seconds)
            if ended.returncode != 0:
                failed.append(f"{' '.join(command)}: {ended.stderr.strip()}")
        time.sleep(0.5)


def flood(place, until, now, together):
    """The unprivileged caller: anonymous on loopback, `nobody` on the socket."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    slice_seconds = max(2.0, min(20.0, (until - time.monotonic()) / (2 * len(means.ALL))))
    while time.monotonic() < until:
        # With --together only the last, which is the others at once.
        for number, (name, attack) in list(enumerate(means.ALL))[-1 if together else 0:]:
            left = until - time.monotonic()
            if left <= 0:
                return
            now.value = number
            attack(place, time.monotonic() + min(slice_seconds, left))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--p99", type=float, default=50, help="milliseconds")
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--together", metavar="WORDS", action="append",
                        help="only the methods with these words, all at once; may be repeated")
    options = parser.parse_args()
    if options.together:
        chosen = [(name, attack) for name, attack in means.ALL if any(words in name for words in options.together)]
        means.ALL = [*chosen, ("all of these at once", means.everything)]
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    server = Server(os.path.abspath(options.binary), folder, options.tls)
    started, faults = time.monotonic(), []
    until = started + options.minutes * 60
    fork = multiprocessing.get_context("fork")
    now, idle = fork.Value("i", 0), server.memory_mib("VmRSS")
    if os.getuid() == 0:
        server.serve_page()
    floods = [token for name, token in server.tokens.items() if name.startswith("flood")]
    place = means.Place(server.port, server.socket, options.tls, server.page, STRANGER, floods)
    # Not a daemon: it has children of its own.
    attacker = fork.Process(target=flood, args=(place, until, now, bool(options.together)))
    attacker.start()
    over, home, answered, asked, took, failed = threading.Event(), threading.Event(), [], [], [], []
    memory, slowest = [0.0] * len(means.ALL), [0.0] * len(means.ALL)
    asks = threading.Thread(target=asker, args=(server, over, asked))
    approvals, approval_slowest = [], [0.0] * len(means.ALL)
    answers = threading.Thread(target=person, args=(server, home, answered, now, approvals, approval_slowest))
    visits, visit_slowest, visit_failed = [], [0.0] * len(means.ALL), []
    phone = threading.Thread(target=visitor, args=(server, until, now, visits, visit_slowest, visit_failed))
    # Only root has a door of its own; another user's own flood is root's for nobody.
    at_console, console_slowest, console_failed = [], [0.0] * len(means.ALL), []
    commands = threading.Thread(target=console, args=(server, until, now, at_console, console_slowest, console_failed))
    asks.start()
    answers.start()
    if os.getuid() == 0:
        commands.start()
        phone.start()
    reader = Caller(server, "reader")
    while time.monotonic() < until:
        try:
            answer, seconds = reader.call("system.get_clock", {})
            (took if "result" in answer else failed).append(seconds if "result" in answer else answer)
            slowest[now.value] = max(slowest[now.value], seconds)
        except (OSError, http.client.HTTPException) as error:
            failed.append(str(error))
        memory[now.value] = max(memory[now.value], server.memory_mib("VmRSS"))
        time.sleep(1)
    attacker.join(60)
    if attacker.is_alive():
        attacker.terminate()
    # What its connections still ask for when they are gone takes memory as well.
    for _ in range(AFTERWARDS):
        try:
            reader.call("system.get_clock", {})
        except (OSError, http.client.HTTPException) as error:
            failed.append(str(error))
        time.sleep(1)
    peak = server.memory_mib("VmHWM")
    page_peak = 0
    if os.getuid() == 0:
        commands.join()
        phone.join()
        page_peak = server.memory_mib("VmHWM", server.page_child)
        server.page_child.terminate()
        if server.page_child.wait(30) != 0:
            faults.append(f"the approval page ended with {server.page_child.returncode}")
    # The last request is answered too.
    over.set()
    asks.join()
    home.set()
    answers.join()
    server.child.terminate()
    if server.child.wait(30) != 0:
        faults.append(f"the server ended with {server.child.returncode}")

    milliseconds = sorted(1000 * seconds for seconds in took) or [float("inf")]
    p50, p99 = (milliseconds[min(len(milliseconds) - 1, int(len(milliseconds) * part))] for part in (0.5, 0.99))
    show = server.run("audit", "show", "--principal", "token:reader", "--limit", "1000", "--json").stdout.splitlines()
    approved = [error for error, _ in asked if error is None]
    verify = server.run("audit", "verify")
    rows = zip(means.ALL, memory, slowest, console_slowest, approval_slowest, visit_slowest)
    print("    MiB  slowest, in ms: read, root's command, approval, visit of the approval page")
    for (name, _), most, *times in rows:
        print(f"  {most:5.1f}  " + " ".join(f"{1000 * seconds:7.1f}" for seconds in times) + f"  {name}")
    at_console = sorted(at_console)
    command_p99 = at_console[int(len(at_console) * 0.99)] if at_console else 0
    print(f"root's commands (halt, halt --lift, halt --status, approve --list, call): {len(at_console)}, "
          f"{len(console_failed)} failed; p99 {1000 * command_p99:.0f} ms")
    late = {}
    for what, seconds in (("approvals, from the key to the answer", approvals), ("visits of the approval page", visits)):
        late[what] = sorted(seconds)[int(len(seconds) * 0.99)] if seconds else 0
        print(f"{what}: {len(seconds)}, p99 {1000 * late[what]:.0f} ms")
        if late[what] >= CONSOLE_SECONDS:
            faults.append(f"{what}: p99 {late[what]:.2f} s, at most {CONSOLE_SECONDS} s are allowed")
    if page_peak:
        print(f"memory of the approval page at its peak: {page_peak:.1f} MiB")
    if page_peak >= LIMIT_MIB:
        faults.append(f"memory of the approval page: {page_peak:.1f} MiB, at most {LIMIT_MIB} are allowed")
    if visit_failed:
        faults.append(f"{len(visit_failed)} visits of the approval page failed, first with {visit_failed[0]}")
    print(f"memory {idle:.1f} MiB at the start, {max(memory):.1f} MiB sampled, {peak:.1f} MiB at its peak")
    print(f"reads of another caller: {len(took)} answered, {len(failed)} not; p50 {p50:.1f} ms, p99 {p99:.1f} ms")
    print(f"approvals: {len(approved)} of {len(asked)} asked were answered")
    print(f"records of the other caller: {len(show)} of {len(took)}")
    print("audit verify: " + (verify.stdout + verify.stderr).strip())
    if peak >= LIMIT_MIB:
        faults.append(f"memory: {peak:.1f} MiB, at most {LIMIT_MIB} are allowed")
    if failed:
        faults.append(f"reads of another caller failed, first with {failed[0]}")
    if p99 >= options.p99:
        faults.append(f"reads of another caller: p99 {p99:.1f} ms, at most {options.p99:.0f} are allowed")
    if console_failed:
        faults.append(f"{len(console_failed)} of root's commands failed, first {console_failed[0]}")
    if command_p99 >= CONSOLE_SECONDS:
        faults.append(f"root's commands: p99 {command_p99:.2f} s, at most {CONSOLE_SECONDS} s are allowed")
    if not asked or len(approved) < len(asked):
        faults.append(f"approvals: {[error for error, _ in asked if error][:1] or 'none was asked'}")
    if len(show) < min(len(took), 1000):
        faults.append(f"{len(took) - len(show)} records of another caller are lost")
    if verify.returncode != 0:
        faults.append("the audit is not whole")
    if faults:
        print("FAILED (everything is kept in " + folder + "):\n  " + "\n  ".join(faults))
        sys.exit(1)
    shutil.rmtree(folder)
    print(f"held for {(time.monotonic() - started) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
