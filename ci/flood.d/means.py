"""The methods of an unprivileged caller, each for some seconds. Its own errors are ignored: it is refused all the time."""

import base64
import encodings.idna  # noqa: F401, before rights are given up: Python loads it with the first connection
import http.client
import json
import multiprocessing
import os
import socket
import ssl
import threading
import time


def unverified():
    """A TLS context that accepts any certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


class Place:
    """The server's addresses. `page` is that of the approval page, if there is one, `stranger` the address that its flood comes from,
    and `tokens` are those of callers that may ask for an approval and never stop to."""

    def __init__(self, port, unix, tls=False, page=None, stranger=None, tokens=()):
        self.port, self.unix, self.context = port, unix, unverified() if tls else None
        self.page, self.stranger, self.tokens = page, stranger, tokens

    def bare(self, narrow=False):
        s = socket.socket()
        if narrow:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(5)
        s.connect(("127.0.0.1", self.port))
        return s

    def tcp(self, narrow=False):
        s = self.bare(narrow)
        return self.context.wrap_socket(s) if self.context else s

    def http(self, wait=5):
        if self.context:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=wait, context=self.context)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=wait)

    def local(self):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(5)
        s.connect(self.unix)
        return s


def request(tool, arguments, number=1):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": tool, "params": arguments}).encode()


def post(body, path="/api/mcp", more=""):
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{more}" \
           f"Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def at_once(until, each, threads=8):
    """Runs `each` repeatedly on several threads."""
    def run():
        while time.monotonic() < until:
            try:
                each()
            except (OSError, http.client.HTTPException):
                time.sleep(0.01)
    running = [threading.Thread(target=run) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def sending(place, until, body, headers=None, threads=8, path="/api/mcp"):
    local = threading.local()

    def each():
        if getattr(local, "http", None) is None:
            local.http = place.http()
        try:
            local.http.request("POST", path, body, {"Content-Type": "application/json", **(headers or {})})
            local.http.getresponse().read()
        except (OSError, http.client.HTTPException):
            local.http.close()
            local.http = None
            raise
    at_once(until, each, threads)


def holding(until, opened, count=80):
    """Keeps `count` connections open, and opens new ones once all are open."""
    held = []
    while time.monotonic() < until:
        try:
            held.append(opened())
        except OSError:
            time.sleep(0.01)
        if len(held) >= count:
            time.sleep(max(0, min(1.0, until - time.monotonic())))
            for s in held[: count // 4]:
                s.close()
            del held[: count // 4]
    for s in held:
        s.close()


def huge_refused(place, until):
    sending(place, until, request("gpio.write_pin", {"pin": 17, "value": "x" * 780_000}), threads=2)


def huge_unknown(place, until):
    sending(place, until, request("system.get_clock", {"no_such_argument": "x" * 780_000}), threads=2)


def many_reads(place, until):
    sending(place, until, request("system.get_basic_info", {}))


def wrong_tokens(place, until):
    sending(place, until, request("system.get_clock", {}), {"Authorization": "Bearer rmcp_wrong"})


def waits(place, until):
    def opened():
        s = place.tcp()
        s.sendall(post(request("gpio.wait_for_edge", {"pin": 27, "edge": "rising", "timeout_ms": 30_000})))
        return s
    holding(until, opened)


def sessions_and_streams(place, until):
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "flood", "version": "1"}}

    def opened():
        s = place.tcp()
        s.sendall(post(request("initialize", hello), "/mcp"))
        answer = s.recv(65536).decode(errors="replace")
        for line in answer.split("\r\n"):
            if line.lower().startswith("mcp-session-id:"):
                stream = place.tcp()
                stream.sendall(f"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{line}\r\n\r\n".encode())
                s.close()
                return stream
        return s
    holding(until, opened)


def subscriptions(place, until):
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "flood", "version": "1"}}

    def opened():
        s = place.local()
        lines = [request("initialize", hello, 0)]
        lines += [request("resources/subscribe", {"uri": f"raspi://gpio/{n}"}, n) for n in range(2, 18)]
        s.sendall(b"\n".join(lines) + b"\n")
        return s
    holding(until, opened)


def endless_unix(place, until):
    """Connects and closes without end and without waiting for a place: the kernel's queue stays full."""
    def run():
        while time.monotonic() < until:
            with socket.socket(socket.AF_UNIX) as s:
                s.setblocking(False)
                s.connect_ex(place.unix)
    # In processes of their own: threads of Python take turns.
    running = [multiprocessing.get_context("fork").Process(target=run) for _ in range(2)]
    for child in running:
        child.start()
    for child in running:
        child.join()


def wrong_signatures(place, until):
    order = {"purpose": "raspi-mcp owner 1", "device": "0" * 64, "boot": "x", "time_ms": int(time.time() * 1000),
             "nonce": base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("="), "operation": "lift_halt", "args": {}}
    body = json.dumps({"document": json.dumps(order), "key": "0" * 64, "kind": "cli", "signature": "AAAA"})
    sending(place, until, body.encode(), path="/owner")


def page_connections(place, until):
    """More TLS connections than the approval page has places, of one address without a token: finished, and not begun."""
    if place.page is None:
        return
    context = unverified()

    def opened():
        s = socket.create_connection(place.page, 5, (place.stranger, 0))
        return context.wrap_socket(s) if os.urandom(1)[0] % 2 else s
    holding(until, opened)


def many_asks(place, until):
    """Each of these tokens has as many requests waiting for a person as it gets."""
    body = request("gpio.write_pin", {"pin": 27, "value": "low"})

    def each(token):
        http = place.http(wait=max(1.0, until - time.monotonic()))
        headers = {"Content-Type": "application/json", "Authorization": "Bearer " + token}
        http.request("POST", "/api/mcp", body, headers)
        if b'"error"' in http.getresponse().read():
            time.sleep(0.05)
        http.close()
    running = [threading.Thread(target=at_once, args=(until, lambda token=token: each(token), 10)) for token in place.tokens]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def idle_unix(place, until):
    holding(until, place.local)


def asking(place, until, methods):
    """Holds connections of the Unix socket that ask for these in turn, 60 times at once, and never read."""
    def opened():
        s = place.local()
        asks = (methods[n % len(methods)] for n in range(60))
        s.sendall(b"\n".join(request(*ask, n) for n, ask in enumerate(asks)) + b"\n")
        return s
    holding(until, opened)


def unread_unix(place, until):
    # The longest responses, through MCP and through the bare methods.
    asking(place, until, [("tools/list", {}), ("tools.search", {"query": "pin"}), ("system.get_capabilities", {})])


def searches(place, until):
    # Each has a table in memory, or the texts of all tools.
    asking(place, until, [("tools.search", {"query": "pin"}), ("vector.search", {"query": "pin"}), ("vector.get_status", {})])


def unread_streams(place, until):
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "flood", "version": "1"}}

    def opened():
        s = place.tcp(narrow=True)
        s.sendall(post(request("initialize", hello), "/mcp"))
        answer = s.recv(65536).decode(errors="replace")
        for line in answer.split("\r\n"):
            if line.lower().startswith("mcp-session-id:"):
                more = "MCP-Protocol-Version: 2025-11-25\r\n" + line + "\r\n"
                s.sendall(post(request("tools/list", {}), "/mcp", more) * 20)
        return s
    holding(until, opened)


def unread_http(place, until):
    def opened():
        s = place.tcp(narrow=True)
        s.sendall(post(request("tools/list", {})) * 20)
        return s
    holding(until, opened)


def silent_handshake(place, until):
    def opened():
        s = place.bare()
        # The record header of a ClientHello of 512 bytes, without its contents (RFC 8446, 5.1).
        s.sendall(b"\x16\x03\x01\x02\x00")
        return s
    holding(until, opened)


def silent_http(place, until):
    def opened():
        s = place.tcp()
        s.sendall(b"POST /mcp HTTP/1.1\r\nHost: local")
        return s
    holding(until, opened)


def websockets(place, until):
    key = base64.b64encode(os.urandom(16)).decode()
    upgrade = f"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
              f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"

    def frame(payload):
        mask = b"\0\0\0\0"
        return bytes([0x81, 0x80 | 126]) + len(payload).to_bytes(2, "big") + mask + payload

    def opened():
        s = place.tcp(narrow=True)
        s.sendall(upgrade.encode())
        s.recv(1024)
        call = request("gpio.wait_for_edge", {"pin": 27, "edge": "rising", "timeout_ms": 30_000})
        lists = request("tools/list", {}, 2)
        s.sendall(frame(call.ljust(200)) + b"".join(frame(lists.ljust(200)) for _ in range(20)))
        return s
    holding(until, opened)


def everything(place, until):
    running = [threading.Thread(target=attack, args=(place, until)) for _, attack in ALL[:-1]]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


ALL = [
    ("refused calls with 780 kB of arguments", huge_refused),
    ("unknown arguments of 780 kB", huge_unknown),
    ("many reads", many_reads),
    ("wrong tokens", wrong_tokens),
    ("long waits", waits),
    ("sessions and event streams", sessions_and_streams),
    ("subscriptions", subscriptions),
    ("unix connections without end", endless_unix),
    ("orders signed by strangers", wrong_signatures),
    ("connections of one stranger to the approval page", page_connections),
    ("requests for approval by four tokens", many_asks),
    ("idle unix connections", idle_unix),
    ("unix connections that do not read", unread_unix),
    ("searches", searches),
    ("HTTP connections that do not read", unread_http),
    ("event streams that are not read", unread_streams),
    ("handshakes that do not go on", silent_handshake),
    ("HTTP connections that do not finish a head", silent_http),
    ("WebSockets that wait and do not read", websockets),
    ("all of these at once", everything),
]
