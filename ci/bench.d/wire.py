"""An MCP client for measurements: one request in flight, over pipes or one persistent connection."""

import json
import os
import re
import select
import socket
import subprocess
import time

LEGACY = "2025-11-25"
WAIT_SECONDS = 30  # for any single answer; a server that needs longer fails the run


class Broken(Exception):
    """The server answered incorrectly, or not at all."""


class Closed(Broken):
    """The server closed a persistent connection before it answered."""


class Process:
    """A server process, and its figures from Linux."""

    def __init__(self, command, env=None, stdio=True, cwd=None):
        pipe = subprocess.PIPE
        self.log = open(os.path.join(cwd or ".", "server.log"), "wb") if cwd else subprocess.DEVNULL
        self.child = subprocess.Popen(
            command, stdin=pipe if stdio else subprocess.DEVNULL, stdout=pipe if stdio else self.log,
            stderr=self.log, env=env, cwd=cwd, bufsize=0,
        )
        self.pid = self.child.pid

    def _pids(self):
        """The process and its descendants: some servers start a child that does the work."""
        found, todo = [], [self.pid]
        while todo:
            pid = todo.pop()
            found.append(pid)
            for task in self._tasks(pid):
                try:
                    with open(f"/proc/{pid}/task/{task}/children") as f:
                        todo += [int(child) for child in f.read().split()]
                except OSError:
                    pass
        return found

    @staticmethod
    def _tasks(pid):
        try:
            return os.listdir(f"/proc/{pid}/task")
        except OSError:
            return []

    def cpu_seconds(self):
        """CPU time of all threads, from the scheduler's own nanoseconds (stat's ticks are too coarse)."""
        total = 0
        for pid in self._pids():
            for task in self._tasks(pid):
                with open(f"/proc/{pid}/task/{task}/schedstat") as f:
                    total += int(f.read().split()[0])
        return total / 1e9

    def wakeups(self):
        """Voluntary context switches of all threads so far."""
        total = 0
        for pid in self._pids():
            for task in self._tasks(pid):
                with open(f"/proc/{pid}/task/{task}/status") as f:
                    total += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", f.read(), re.M).group(1))
        return total

    def rss_kib(self):
        total = 0
        for pid in self._pids():
            with open(f"/proc/{pid}/status") as f:
                found = re.search(r"^VmRSS:\s+(\d+)", f.read(), re.M)
                total += int(found.group(1)) if found else 0
        return total

    def close(self):
        if self.child.stdin:
            self.child.stdin.close()
        self.child.terminate()
        try:
            self.child.wait(5)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        if self.child.stdout:
            self.child.stdout.close()
        if self.log is not subprocess.DEVNULL:
            self.log.close()


def request_bytes(method, params, number):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}, separators=(",", ":")).encode()


INITIALIZE = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


class Stdio:
    """One JSON-RPC message a line."""

    def __init__(self, command, env=None, cwd=None):
        self.process = Process(command, env, True, cwd)
        self.out, self.inn = self.process.child.stdin.fileno(), self.process.child.stdout.fileno()
        self.buffer, self.number = b"", 0
        self.poll = select.poll()
        self.poll.register(self.inn, select.POLLIN)

    def ask(self, payload, number):
        os.write(self.out, payload + b"\n")
        while True:
            while b"\n" not in self.buffer:
                if not self.poll.poll(WAIT_SECONDS * 1000):
                    raise Broken(f"no answer within {WAIT_SECONDS} s")
                chunk = os.read(self.inn, 1 << 18)
                if not chunk:
                    raise Broken("the server closed its output")
                self.buffer += chunk
            line, self.buffer = self.buffer.split(b"\n", 1)
            message = json.loads(line) if line.strip() else {}
            if message.get("id") == number and "method" not in message:
                return message

    def request(self, method, params):
        self.number += 1
        return self.ask(request_bytes(method, params, self.number), self.number)

    def start(self):
        answer = self.request("initialize", INITIALIZE)
        if "result" not in answer:
            raise Broken(f"initialize: {answer}")
        os.write(self.out, INITIALIZED + b"\n")
        return answer

    def close(self):
        self.process.close()


class Http:
    """Streamable HTTP over one kept-alive connection; an answer may be JSON or a one-event stream."""

    def __init__(self, command, port, env=None, cwd=None, path="/mcp", headers=()):
        self.process = Process(command, env, False, cwd)
        self.port, self.path, self.extra, self.number = port, path, list(headers), 0
        self.socket = self._connect()
        self.buffer = b""

    def _connect(self):
        until = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                connection = socket.create_connection(("127.0.0.1", self.port), WAIT_SECONDS)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return connection
            except ConnectionRefusedError:
                if time.monotonic() > until or self.process.child.poll() is not None:
                    raise Broken(f"nothing listens on port {self.port}") from None
                time.sleep(0.002)

    def _read(self):
        try:
            chunk = self.socket.recv(1 << 18)
        except ConnectionResetError:
            chunk = b""
        if not chunk:
            raise Closed("the server closed the connection")
        self.buffer += chunk

    def _until(self, mark):
        while mark not in self.buffer:
            self._read()
        head, self.buffer = self.buffer.split(mark, 1)
        return head

    def _take(self, size):
        while len(self.buffer) < size:
            self._read()
        body, self.buffer = self.buffer[:size], self.buffer[size:]
        return body

    def post(self, payload):
        lines = [f"POST {self.path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", "Content-Type: application/json",
                 "Accept: application/json, text/event-stream", f"Content-Length: {len(payload)}", *self.extra]
        message = "\r\n".join(lines).encode() + b"\r\n\r\n" + payload
        try:
            self.socket.sendall(message)
            head = self._until(b"\r\n\r\n").decode("latin-1")
        except (Closed, BrokenPipeError):
            # Node and uvicorn hang up after five idle seconds, as HTTP lets them; a client opens the next connection.
            if self.buffer:
                raise
            self.socket.close()
            self.socket = self._connect()
            self.socket.sendall(message)
            head = self._until(b"\r\n\r\n").decode("latin-1")
        status = int(head.split(" ", 2)[1])
        fields = dict(line.split(":", 1) for line in head.lower().split("\r\n")[1:])
        if "chunked" in fields.get("transfer-encoding", ""):
            body = b""
            while size := int(self._until(b"\r\n"), 16):
                body += self._take(size)
                self._take(2)
            self._take(2)
        else:
            body = self._take(int(fields.get("content-length", "0")))
        if "event-stream" in fields.get("content-type", ""):
            events = [line[5:].strip() for line in body.split(b"\n") if line.startswith(b"data:")]
            body = next((e for e in reversed(events) if e), b"")
        return status, head, body

    def ask(self, payload, number):
        status, _, body = self.post(payload)
        message = json.loads(body) if body else {}
        if message.get("id") != number:
            raise Broken(f"HTTP {status}: {body[:300]!r}")
        return message

    def request(self, method, params):
        self.number += 1
        return self.ask(request_bytes(method, params, self.number), self.number)

    def start(self):
        self.number += 1
        _, head, body = self.post(request_bytes("initialize", INITIALIZE, self.number))
        if b'"result"' not in body:
            raise Broken(f"initialize: {body[:300]!r}")
        found = re.search(r"^mcp-session-id:\s*(\S+)", head, re.M | re.I)
        if found:
            self.extra.append(f"Mcp-Session-Id: {found.group(1)}")
        self.extra.append(f"MCP-Protocol-Version: {LEGACY}")
        self.post(INITIALIZED)
        return json.loads(body)

    def close(self):
        self.socket.close()
        self.process.close()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]
