"""A provisioned card boots: the time until the first answer, its size, and what listens."""

import datetime
import os
import re
import zlib

SHORT = True
# After sysinit.target.
ANSWER_SECONDS = 3
ROOT_BYTES = 120_000_000


def story(bench):
    card = bench.owned()
    root = os.path.join(bench.images, "root.img")
    size = compressed(root)
    bench.says(f"the root has {os.path.getsize(root) / 1e6:.1f} MB with its hash tree, {size / 1e6:.1f} MB compressed")
    bench.check(f"under {ROOT_BYTES / 1e6:.0f} MB compressed", size < ROOT_BYTES, True)
    with bench.power_on(card) as pi:
        client, clock = bench.first_answer("system.get_clock")
        answered = moment(clock["time"])
        page = client.call("logs.query_journal", unit="sysinit.target", order="oldest_first")
        began = moment(page["entries"][0]["timestamp"])
        took = (answered - began).total_seconds()
        bench.says(f"sysinit.target to the first answer: {took:.2f} s of the guest's time (1 ns an instruction, one core)")
        bench.check(f"within {ANSWER_SECONDS} s", took <= ANSWER_SECONDS, True)
        tools = client.request("tools/list", {})["tools"]
        bench.says(f"{len(tools)} tools through TLS, {client.fingerprint}")
        listens(bench, client)
        pi.cut_power()


def listens(bench, client):
    """What the world reaches: our server, and the port that systemd holds for the approval page. Beside them only answers that were asked for,
    DHCP's, and mDNS, by which it is found."""
    # The machine still starts the rest of itself, and this computer may be busy.
    client.patience = 120
    client.call("service.start", service_name="bench-sockets.service")
    found, kind = set(), ""
    for entry in client.call("logs.query_journal", unit="bench-sockets.service", order="oldest_first", limit=200)["entries"]:
        if table := re.match(r"==> /proc/net/(tcp|udp)", entry["message"]):
            kind = table.group(1)
        if socket := re.match(r"\s*\d+: ([0-9A-F]+):([0-9A-F]{4}) \S+ ([0-9A-F]{2}) ", entry["message"]):
            address, port, state = socket.groups()
            # 0A: TCP that listens; UDP has no such state. 127.0.0.0/8 and ::1 as the kernel writes them, in the machine's order of bytes.
            loopback = address.endswith("7F") and len(address) == 8 or address == "0" * 24 + "01000000"
            if not loopback and (kind == "udp" or state == "0A"):
                found.add(f"{kind} {int(port, 16)}")
    bench.check("the world reaches", sorted(found - {"udp 68", "udp 546"}), ["tcp 8443", "tcp 8444", "udp 5353"])



def compressed(path):
    squeeze, size = zlib.compressobj(6), 0
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            size += len(squeeze.compress(piece))
    return size + len(squeeze.flush())


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
