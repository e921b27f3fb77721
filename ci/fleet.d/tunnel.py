"""The tunnel beside a direct TLS connection, over the same slow link: python3 tunnel.py RASPI_MCP LINK [--limits]

Three network namespaces, made and removed here: console, broker and device. LINK (link.c) joins broker and device with a rate and a
delay; the direct connection is routed over the same link. The device is a real one, and so are broker and `fleet connect`.

For each round trip of the link one line of JSON: milliseconds of a call on a connection that is open, and on a new one; and 16 MiB of
answers, as they begin on a connection and after 16 MiB before them."""

import argparse
import contextlib
import ctypes
import json
import os
import pathlib
import re
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

from device import TOKEN, Device, Fleet, run, unverified

RATE = 100_000_000
ROUND_TRIPS_MS = (0, 20, 100)
# What the router before the link keeps, in milliseconds of its rate; more is dropped.
QUEUE_MS = int(os.environ.get("QUEUE_MS", "200"))
MIB = 1 << 20
# One answer, and how many are asked for at once. What is measured first and second is each half of them.
ANSWER = MIB
ANSWERS = 32
CALLS = 60
ROUNDS = 3
BROKER, CONSOLE, DEVICE = "10.77.1.1", "10.77.2.2", "10.77.1.2"
# What the issue allows: a call in direct calls, after the broker's round trip; and 16 MiB in parts of the link.
LIMITS = {"call": 1.5, "link": 0.9}

libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def inside(namespace):
    """Sockets that are made here belong to the namespace."""
    with open("/proc/self/ns/net") as home, open(f"/var/run/netns/{namespace}") as there:
        assert libc.setns(there.fileno(), 0x40000000) == 0, os.strerror(ctypes.get_errno())
        try:
            yield
        finally:
            assert libc.setns(home.fileno(), 0x40000000) == 0


class Network:
    """console -- broker == link == device."""

    def __init__(self, link):
        self.link_program, self.link = link, None
        self.console, self.broker, self.device = (f"rmcp-{os.getpid()}-{name}" for name in ("console", "broker", "device"))

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def make(self):
        for name in (self.console, self.broker, self.device):
            run("ip", "netns", "add", name)
            self.at(name, "ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "veth0", "netns", self.console, "type", "veth", "peer", "name", "veth1", "netns", self.broker)
        self.up(self.console, "veth0", f"{CONSOLE}/24")
        self.up(self.broker, "veth1", "10.77.2.1/24")
        self.at(self.console, "ip", "route", "add", "default", "via", "10.77.2.1")
        self.at(self.broker, "sysctl", "-qw", "net.ipv4.ip_forward=1")

    def __exit__(self, *_):
        self.unlink()
        for name in (self.console, self.broker, self.device):
            subprocess.run(["ip", "netns", "del", name], check=False)

    def at(self, namespace, *command):
        return run("ip", "netns", "exec", namespace, *command)

    def up(self, namespace, interface, address):
        self.at(namespace, "ip", "address", "add", address, "dev", interface)
        self.at(namespace, "ip", "link", "set", "dev", interface, "up")

    def unlink(self):
        if self.link:
            self.link.kill()
            self.link.wait()
            self.link = None

    def relink(self, round_trip_ms):
        self.unlink()
        command = [self.link_program, self.broker, self.device, str(RATE), str(round_trip_ms * 500), str(QUEUE_MS * 1000)]
        self.link = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.link.stdout.readline() == "ready\n"
        for namespace, address in ((self.broker, BROKER), (self.device, DEVICE)):
            self.at(namespace, "ip", "link", "set", "dev", "link", "txqueuelen", "10000")
            self.up(namespace, "link", f"{address}/24")
        self.at(self.device, "ip", "route", "add", "default", "via", BROKER)


class Reader:
    """One connection to the device, and the answers that come there."""

    def __init__(self, network, address):
        with inside(network.console):
            plain = socket.create_connection(address, timeout=30)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.tls = unverified().wrap_socket(plain)
        self.buffer = bytearray()

    def ask(self, *calls):
        text = b""
        for method, params in calls:
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
            text += (
                f"POST /api/mcp HTTP/1.1\r\nHost: {DEVICE}\r\nContent-Type: application/json\r\n"
                f"Accept: application/json\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n"
            ).encode() + body
        self.tls.sendall(text)

    def answer(self):
        """The length of the next answer, in bytes."""
        while b"\r\n\r\n" not in self.buffer:
            self.more()
        head, _, rest = bytes(self.buffer).partition(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head, re.I)[1])
        if not head.startswith(b"HTTP/1.1 200"):
            sys.exit(f"the device answers {head}{rest}")
        self.buffer = bytearray(rest)
        while len(self.buffer) < length:
            self.more()
        body = bytes(self.buffer[:length])
        del self.buffer[:length]
        if b'"error"' in body[:200]:
            sys.exit(f"the device answers {body[:500]}")
        return len(head) + 4 + length

    def more(self):
        data = self.tls.recv(256 * 1024)
        if not data:
            sys.exit("the connection ended in an answer")
        self.buffer += data

    def call(self):
        begun = time.monotonic()
        self.ask(("system.get_basic_info", {}))
        self.answer()
        return (time.monotonic() - begun) * 1000

    def transfer(self):
        """Megabits per second of each half of the answers, and bytes of one."""
        self.ask(*[("files.read", {"path": "data", "length": ANSWER, "max_bytes": ANSWER})] * ANSWERS)
        begun = time.monotonic()
        halves = []
        for half in range(2):
            size = 0
            for _ in range(ANSWERS // 2):
                size += self.answer()
            ended = time.monotonic()
            halves.append(size * 8 / (ended - begun) / 1e6)
            begun = ended
        return halves


def broker_round_trip(network, fleet, device):
    """Milliseconds from the console to a subscriber at the device and back, both with TLS at the broker: the protocol of NATS, by hand."""

    def connect(namespace, certificate, key):
        with inside(namespace):
            plain = socket.create_connection((BROKER, fleet.port), timeout=30)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        assert plain.recv(65536).startswith(b"INFO")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(fleet.dir / "ca.pem")
        context.load_cert_chain(certificate, key)
        tls = context.wrap_socket(plain, server_hostname=BROKER)
        tls.sendall(b'CONNECT {"verbose":false,"tls_required":true,"lang":"python","version":"0"}\r\n')
        return tls

    site = device.folder / ".config/raspi-mcp/fleet"
    far = connect(network.device, site / "certificate.pem", site / "key.pem")
    near = connect(network.console, fleet.dir / "console.pem", fleet.dir / "console.key")
    to, back = (f"rmcp.1.home.s.{device.name}.measure.{way}".encode() for way in ("up", "down"))
    far.sendall(b"SUB " + to + b" 1\r\nPING\r\n")
    near.sendall(b"SUB " + back + b" 1\r\nPING\r\n")

    def hears(end, word):
        # The broker asks PING in between.
        while word not in end.recv(65536):
            pass

    for end in (far, near):
        hears(end, b"PONG")
    times = []
    for _ in range(CALLS):
        begun = time.monotonic()
        near.sendall(b"PUB " + to + b" 1\r\nx\r\n")
        hears(far, b"MSG")
        far.sendall(b"PUB " + back + b" 1\r\nx\r\n")
        hears(near, b"MSG")
        times.append((time.monotonic() - begun) * 1000)
    return statistics.median(times)


def sequence(fleet):
    """Of the newest status of the only device."""
    return fleet.statuses()["devices"][0]["sequence"]


def connected(network, fleet, device):
    """`fleet connect`, and its address."""
    command = ["ip", "netns", "exec", network.console, fleet.program, "fleet", "connect", "--dir", fleet.dir, device.name]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    found = re.search(r"127\.0\.0\.1:(\d+)", child.stdout.readline())
    return child, ("127.0.0.1", int(found[1]))


def measure(network, fleet, device, round_trip_ms):
    network.relink(round_trip_ms)
    fleet.start()
    before = sequence(fleet)
    device.start()
    while sequence(fleet) == before:
        time.sleep(0.2)
    child, port = connected(network, fleet, device)
    try:
        return compared(network, fleet, device, {"direct": (DEVICE, device.port), "tunnel": port}, round_trip_ms)
    finally:
        child.kill()
        child.wait()
        device.stop()
        fleet.stop()


def compared(network, fleet, device, ways, round_trip_ms):
    open_ones = {way: Reader(network, address) for way, address in ways.items()}
    times = {way: [] for way in ways}
    fresh = {way: [] for way in ways}
    for count in range(CALLS):
        for way, reader in open_ones.items():
            times[way].append(reader.call())
        if count % 6 == 0:
            for way, address in ways.items():
                begun = time.monotonic()
                Reader(network, address).call()
                fresh[way].append((time.monotonic() - begun) * 1000)
    rates = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way, address in ways.items():
            rates[way].append(Reader(network, address).transfer())
    told = {"round_trip_ms": round_trip_ms, "broker_ms": round(broker_round_trip(network, fleet, device), 2)}
    for way in ways:
        told[f"{way}_ms"] = round(statistics.median(times[way]), 2)
        told[f"{way}_new_ms"] = round(statistics.median(fresh[way]), 2)
        told[f"{way}_first_mbit"] = round(statistics.median(first for first, _ in rates[way]), 1)
        told[f"{way}_mbit"] = round(statistics.median(second for _, second in rates[way]), 1)
    told["call"] = round((told["tunnel_ms"] - told["broker_ms"]) / told["direct_ms"], 2)
    told["link"] = round(told["tunnel_mbit"] * 1e6 / RATE, 3)
    return told


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("link")
    parser.add_argument("--limits", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, Network(args.link) as network:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        there = ["ip", "netns", "exec"]
        fleet = Fleet(args.program, folder, BROKER, [*there, network.broker], [*there, network.console])
        data = folder / "data"
        data.mkdir()
        (data / "data").write_bytes(b"x" * ANSWER)
        device = Device(
            args.program, folder, "device", DEVICE, [*there, network.device],
            f'[limits]\nreads_per_minute = 100000\n[[files.roots]]\nname = "data"\npath = "{data}"\n',
        )
        network.relink(0)
        device.start()
        device.joins(fleet)
        try:
            for round_trip_ms in ROUND_TRIPS_MS:
                told = measure(network, fleet, device, round_trip_ms)
                print(json.dumps(told), flush=True)
                if args.limits and (told["call"] > LIMITS["call"] or told["link"] < LIMITS["link"]):
                    sys.exit(f"beyond the limits {LIMITS}")
        finally:
            device.stop()
            fleet.stop()


if __name__ == "__main__":
    main()
