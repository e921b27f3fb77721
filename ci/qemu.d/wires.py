"""The connections to a running machine: its console, QEMU's monitor (QMP), a control channel in the guest, and MCP.

Every step waits for an event, with a deadline; nothing sleeps. Every wait ends early if QEMU has ended."""

import base64
import contextlib
import hashlib
import http.client
import json
import re
import socket
import ssl
import threading
import time


class Missed(Exception):
    """An expected event did not happen."""


class Console:
    """The serial console, line by line: logged to a file with the seconds since power-on, searched from the end of the last match."""

    def __init__(self, path):
        self.lines, self.cursor, self.closed = [], 0, False
        self.changed = threading.Condition()
        self.path, self.started = path, time.monotonic()
        self.log = open(path, "w", buffering=1)

    def attach(self, stream, last=True):
        """Reads a machine's output in a thread, which is returned. `last`: nothing comes after it."""
        reader = threading.Thread(target=self._read, args=(stream, last), daemon=True)
        reader.start()
        return reader

    def _read(self, stream, last):
        for raw in iter(stream.readline, b""):
            self.add(raw.decode(errors="replace").rstrip())
        if last:
            self.close()

    def add(self, line):
        """A line, of the machine or of the bench itself."""
        with self.changed:
            self.log.write(f"{time.monotonic() - self.started:7.2f}  {line}\n")
            self.lines.append(line)
            self.changed.notify_all()

    def close(self):
        with self.changed:
            self.closed = True
            self.changed.notify_all()

    def expect(self, pattern, within):
        """Waits for a line with the pattern (a regular expression) and returns the match."""
        return self.first({pattern: None}, within)[1]

    def first(self, patterns, within):
        """Waits for the first line with any of the patterns: (the pattern's value, the match)."""
        until = time.monotonic() + within
        with self.changed:
            while True:
                while self.cursor < len(self.lines):
                    line = self.lines[self.cursor]
                    self.cursor += 1
                    for pattern, value in patterns.items():
                        if found := re.search(pattern, line):
                            return value, found
                wanted = " or ".join(repr(pattern) for pattern in patterns)
                if self.closed:
                    raise Missed(f"the machine ended before its console said {wanted}")
                if not self.changed.wait(until - time.monotonic()):
                    raise Missed(f"the console did not say {wanted} within {within} s")

    def count(self, pattern):
        """The number of lines so far that match the pattern."""
        with self.changed:
            return sum(1 for line in self.lines if re.search(pattern, line))

    def tail(self, lines=40):
        with self.changed:
            return [line for line in self.lines if line][-lines:]


class Lines:
    """One end of a socket pair to QEMU: text lines in both directions."""

    def __init__(self, end):
        self.end, self.buffer = end, b""

    def send(self, line):
        try:
            self.end.sendall(line.encode() + b"\n")
        except OSError:
            raise Missed("the machine ended") from None

    def receive(self, within, waiting_for):
        """The next line. `within` None: without a deadline."""
        until = within and time.monotonic() + within
        while b"\n" not in self.buffer:
            self.end.settimeout(within and max(until - time.monotonic(), 0.001))
            try:
                chunk = self.end.recv(1 << 16)
            except socket.timeout:
                raise Missed(f"no {waiting_for} within {within:.0f} s") from None
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                raise Missed(f"the machine ended while {waiting_for} was awaited")
            self.buffer += chunk
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()


class Qmp:
    """QEMU's monitor: commands, and events in the order of arrival. Read in a thread, so that the last event before QEMU
    ends is not lost."""

    def __init__(self, end):
        self.lines, self.events, self.answers, self.closed = Lines(end), [], [], False
        self.changed = threading.Condition()
        json.loads(self.lines.receive(10, "greeting of QEMU's monitor"))
        threading.Thread(target=self._read, daemon=True).start()
        self.ask("qmp_capabilities")

    def _read(self):
        try:
            while True:
                message = json.loads(self.lines.receive(None, "message of QEMU's monitor"))
                with self.changed:
                    (self.events if "event" in message else self.answers).append(message)
                    self.changed.notify_all()
        except Missed:
            with self.changed:
                self.closed = True
                self.changed.notify_all()

    def _wait(self, ready, within, waiting_for):
        with self.changed:
            self.changed.wait_for(lambda: self.closed or ready(), within)
            if not ready():
                how = "the machine ended" if self.closed else f"{within:.0f} s passed"
                raise Missed(f"{how} while {waiting_for} was awaited")

    def ask(self, command, **arguments):
        self.lines.send(json.dumps({"execute": command, "arguments": arguments}))
        self._wait(lambda: self.answers, 10, f"answer to {command}")
        message = self.answers.pop(0)
        if "error" in message:
            raise RuntimeError(f"QEMU refuses {command}: {message['error']['desc']}")
        return message["return"]

    def event(self, name, within):
        """Waits for an event such as WATCHDOG, RESET or SHUTDOWN and takes it, with those before it."""
        named = lambda: any(event["event"] == name for event in self.events)
        self._wait(named, within, f"event {name}")
        while (event := self.events.pop(0))["event"] != name:
            pass
        return event["data"]

    def ended(self, within=10):
        """Why QEMU ended, once it has: `guest-reset`, `guest-shutdown`, or None if unknown."""
        with self.changed:
            self.changed.wait_for(lambda: self.closed, within)
            reasons = [event["data"].get("reason") for event in self.events if event["event"] == "SHUTDOWN"]
        return reasons[-1] if reasons else None

    def forwarded_port(self, guest=r"\d+"):
        """The port of this computer that QEMU chose to forward to that port of the guest, or to its only one."""
        table = self.ask("human-monitor-command", **{"command-line": "info usernet"})
        if not (found := re.search(rf"HOST_FORWARD\]\s+\d+\s+127\.0\.0\.1\s+(\d+)\s+\S+\s+{guest}\s", table)):
            raise RuntimeError(f"QEMU forwards no port {guest}: {table}")
        return int(found.group(1))


class Hand:
    """Runs shell commands as root in the guest (ci/qemu.d/rootfs/bench/control answers)."""

    def __init__(self, end):
        self.lines = Lines(end)

    def send(self, command):
        """Sends a command that will not be answered, such as `poweroff`. An early command waits for the guest."""
        self.lines.send(base64.b64encode(command.encode()).decode())

    def run(self, command, within=20):
        """Returns the command's output; it must succeed."""
        self.send(command)
        return self._output(command, self.lines.receive(within, f"end of `{command}` in the guest"))

    def follow(self, command, console, silence=120):
        """The same for a command whose output goes to the console as well: it fails if the console says nothing for so many seconds, however
        long it takes in all, which depends on what else the computer does."""
        command = f"{{ {command}; }} 2>&1 | tee /dev/console"
        self.send(command)
        said, until = None, 0
        while True:
            if said != (now := len(console.lines)):
                said, until = now, time.monotonic() + silence
            try:
                return self._output(command, self.lines.receive(2, f"end of `{command}` in the guest"))
            except Missed:
                if console.closed:
                    raise Missed(f"the machine ended while `{command}` ran in it") from None
                if time.monotonic() > until:
                    raise Missed(f"`{command}` in the guest said nothing for {silence} s") from None

    def _output(self, command, answer):
        status, _, output = answer.partition(" ")
        text = base64.b64decode(output).decode(errors="replace")
        if status != "0":
            raise Missed(f"`{command}` failed in the guest with {status}: {text.strip()}")
        return text


class Mcp:
    """A minimal Streamable HTTP client: a session, and tools/call."""

    PROTOCOL = "2025-11-25"

    def __init__(self, port, more=None):
        # The timeout of a response, in seconds without a byte.
        self.patience = 20
        self.address, self.session, self.number = ("127.0.0.1", port), None, 0
        # Headers of every request, and messages before a response, such as progress.
        self.more, self.heard = more or {}, []
        self.server = self.request("initialize", {
            "protocolVersion": self.PROTOCOL, "capabilities": {}, "clientInfo": {"name": "ci-qemu", "version": "1"},
        })["serverInfo"]
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def connect(self):
        return http.client.HTTPConnection(*self.address, timeout=self.patience)

    def _post(self, message):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session:
            headers |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": self.PROTOCOL}
        connection = self.connect()
        try:
            connection.request("POST", "/mcp", json.dumps(message), headers | self.more)
            answer = connection.getresponse()
            body = answer.read().decode()
        except OSError as error:
            raise Missed(f"no answer to {message['method']}: {error!r}") from None
        finally:
            connection.close()
        if answer.status not in (200, 202):
            raise Missed(f"HTTP {answer.status} to {message['method']}: {body[:300]}")
        self.session = self.session or answer.getheader("Mcp-Session-Id")
        if "event-stream" in answer.getheader("Content-Type", ""):
            *before, body = [line[5:] for line in body.splitlines() if line.startswith("data:") and line[5:].strip()]
            self.heard += map(json.loads, before)
        return json.loads(body) if body.strip() else None

    def request(self, method, params):
        self.number += 1
        answer = self._post({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        if "result" not in answer:
            raise Missed(f"{method} was answered with {json.dumps(answer.get('error'))}")
        return answer["result"]

    def call(self, tool, /, _meta=None, **arguments):
        """Calls a tool that must succeed and returns its structured result."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments} | ({"_meta": _meta} if _meta else {}))
        if result.get("isError"):
            raise Missed(f"{tool} failed: {json.dumps(result)[:500]}")
        return result["structuredContent"]


class SecureMcp(Mcp):
    """The same through TLS, with a token. `fingerprint` pins the certificate; without it, the first certificate is pinned."""

    def __init__(self, port, token, fingerprint=None):
        self.fingerprint = fingerprint
        super().__init__(port, {"Authorization": f"Bearer {token}"})

    def connect(self):
        connection = PinnedConnection(*self.address, timeout=self.patience, context=UNVERIFIED)
        connection.pinned_by = self
        return connection


# An appliance's certificate is self-signed and identified by its fingerprint.
UNVERIFIED = ssl.create_default_context()
UNVERIFIED.check_hostname = False
UNVERIFIED.verify_mode = ssl.CERT_NONE


def fingerprint(sock):
    return "sha256:" + hashlib.sha256(sock.getpeercert(binary_form=True)).hexdigest()


def visited(port, path, patience=120):
    """Whoever answers there through TLS: the fingerprint of the certificate, and the body."""
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=patience, context=UNVERIFIED)
    with contextlib.closing(connection):
        connection.connect()
        found = fingerprint(connection.sock)
        connection.request("GET", path)
        return found, connection.getresponse().read()


class PinnedConnection(http.client.HTTPSConnection):
    def connect(self):
        super().connect()
        found = fingerprint(self.sock)
        self.pinned_by.fingerprint = self.pinned_by.fingerprint or found
        if found != self.pinned_by.fingerprint:
            raise Missed(f"the certificate is {found}, not {self.pinned_by.fingerprint}")
