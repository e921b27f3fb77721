"""What a fleet costs an idle device: python3 idle.py RASPI_MCP [--device RASPI_MCP] [--seconds 600] [--limits]

--device: the program of the devices, if it is another one, such as a release without the console.

Two devices side by side, one in a fleet and one in none. Memory is the Pss of server and agent after a minute; wake-ups are voluntary
context switches of the server. The traffic goes through a proxy of this program, which counts bytes and segments: TLS included, and
TCP's and IP's headers are added by arithmetic. One line of JSON."""

import argparse
import json
import pathlib
import selectors
import socket
import sys
import tempfile
import threading
import time

from device import Device, Fleet, free_port, pss, wakes

# What the issue allows: KiB of memory, wake-ups a minute, bytes of traffic in 30 days.
LIMITS = {"memory_kib": 614, "wakes_a_minute": 1, "month_bytes": 10_000_000}
# Ethernet is not counted, as operators of mobile networks do not: IPv4 and TCP with timestamps.
HEADERS = 52
MONTH = 30 * 86_400


class Counter(threading.Thread):
    """A proxy on a port, which counts what passes."""

    def __init__(self, port, to):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", port))
        self.to, self.seen = to, []

    def run(self):
        select = selectors.DefaultSelector()
        select.register(self.listener, selectors.EVENT_READ, None)
        while True:
            for key, _ in select.select():
                if key.data is None:
                    near, _ = self.listener.accept()
                    far = socket.create_connection(("127.0.0.1", self.to))
                    select.register(near, selectors.EVENT_READ, far)
                    select.register(far, selectors.EVENT_READ, near)
                    continue
                data = key.fileobj.recv(65536)
                if data:
                    key.data.sendall(data)
                    self.seen.append((time.monotonic(), len(data)))
                else:
                    select.unregister(key.fileobj)
                    key.fileobj.close()

    def since(self, begun):
        """Messages and bytes from a time on."""
        sizes = [size for at, size in self.seen if at >= begun]
        return len(sizes), sum(sizes)


def total(device):
    kinds = [pss(child.pid) for child in (device.server, device.agent)]
    return {kind: sum(one[kind] for one in kinds) for kind in kinds[0]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--device")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--limits", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        fleet = Fleet(args.program, folder)
        devices = [Device(args.device or args.program, folder, name) for name in ("member", "alone")]
        try:
            told = measure(fleet, devices, args.seconds)
        finally:
            for device in devices:
                device.stop()
            fleet.stop()
    print(json.dumps(told), flush=True)
    over = {name: told[name] for name, most in LIMITS.items() if told[name] > most}
    if args.limits and over:
        sys.exit(f"above the limits {LIMITS}: {over}")


def measure(fleet, devices, seconds):
    member, alone = devices
    for device in devices:
        device.start()
    member.joins(fleet)
    alone.stop()
    # The device connects to the proxy, which has the broker's name in its certificate.
    proxy = Counter(free_port(), fleet.port)
    proxy.start()
    fragment = member.folder / ".config/raspi-mcp/60-fleet.toml"
    fragment.write_text(fragment.read_text().replace(f":{fleet.port}", f":{proxy.listener.getsockname()[1]}"))
    fleet.start()
    for device in devices:
        device.start()
    while fleet.statuses()["summary"]["silent"]:
        time.sleep(0.2)
    connected = proxy.since(0)
    time.sleep(60)
    kinds = [total(device) for device in devices]
    more = {kind: kinds[0][kind] - kinds[1][kind] for kind in kinds[0]}
    begun = time.monotonic()
    before = [wakes(device.server.pid) for device in devices]
    time.sleep(seconds)
    woken = [wakes(device.server.pid) - was for device, was in zip(devices, before)]
    messages, size = proxy.since(begun)
    # Four statuses an hour, of at most 1,024 bytes and 130 more for the subject, TLS and what the broker is told, are not in the
    # measured time. Each message is a segment, and another one acknowledges it.
    status = 1_024 + 130 + 2 * HEADERS
    quiet = (size + 2 * HEADERS * messages) / seconds
    return {
        "memory_kib": sum(more.values()),
        "memory_by_kind_kib": more,
        "alone_kib": sum(kinds[1].values()),
        "wakes_a_minute": round((woken[0] - woken[1]) * 60 / seconds, 2),
        "alone_wakes_a_minute": round(woken[1] * 60 / seconds, 2),
        "connect_messages": connected[0],
        "connect_bytes": connected[1],
        "idle_messages": messages,
        "idle_bytes": size,
        "seconds": seconds,
        "month_bytes": round(quiet * MONTH + status * 4 * MONTH / 3_600),
    }


if __name__ == "__main__":
    main()
