"""A card with its owner's file starts: how long until the first answer, how large it is, and what listens."""

import datetime
import os
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
        client = bench.answers()
        answered = moment(client.call("system.get_clock")["time"])
        page = client.call("logs.query_journal", unit="sysinit.target", order="oldest_first")
        began = moment(page["entries"][0]["timestamp"])
        took = (answered - began).total_seconds()
        bench.says(f"sysinit.target to the first answer: {took:.2f} s of the guest's time (1 ns an instruction, one core)")
        bench.check(f"within {ANSWER_SECONDS} s", took <= ANSWER_SECONDS, True)
        tools = client.request("tools/list", {})["tools"]
        bench.says(f"{len(tools)} tools through TLS, {client.fingerprint}")
        pi.cut_power()


def compressed(path):
    squeeze, size = zlib.compressobj(6), 0
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            size += len(squeeze.compress(piece))
    return size + len(squeeze.flush())


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
