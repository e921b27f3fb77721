"""A block that no start reads is damaged in the root that runs: the third start finds it, and the other slot runs and says why.

Each time it is read the machine restarts, though each start was found healthy."""

import contextlib
import os

from disk import run
from wires import Missed

MINUTES = 15
# What nobody reads who does not set that timezone.
ZONE = "Pacific/Apia"
UNREAD = f"/usr/share/zoneinfo/{ZONE}"
BLOCK = 4096
# docs/update.md: the counts of starts and of damage in partition 7.
STARTS, DAMAGE, COUNT_BYTES = 12288, 16384, 512
NOTE = "its root is damaged on the card: found by dm-verity"


def story(bench):
    card = bench.owned()
    root = card.slot("A").root
    place = first_block(bench, root) * BLOCK
    root.garbage(BLOCK, at=place)
    bench.says(f"the first block of {UNREAD} is garbage, {place} bytes from the start of the root of slot A")
    with bench.power_on(card) as pi:
        for start in (1, 2):
            pi.console.expect("raspi-mcp boot: slot A, ", 300)
            bench.healthy("A")
            bench.awaits(lambda: card.state().left_A == 3, 300, "healthy boot of slot A")
            bench.check("starts that are counted", counted(card, STARTS), b"A" * start)
            reads(bench)
            bench.says(f"healthy start {start} is over: the file is read")
        for left in "210":
            pi.console.expect(f"raspi-mcp boot: slot A, {left} left", 300)
            bench.says(pi.console.expect("initramfs: .* is damaged.*", 900).string.strip())
        pi.console.expect("raspi-mcp boot: slot B, 2 left", 300)
        bench.healthy("B")
        bench.awaits(lambda: card.state().left_B == 3, 300, "healthy boot of slot B")
        status = bench.answers().call("manage.get_update_status")
        left = next(row for row in status["slots"] if row["slot"] == "A")
        bench.check("slot A", (left["running"], left["state"], left.get("note")), (False, "bad", NOTE))
        bench.check("starts that found damage and were not recorded", counted(card, DAMAGE), b"")
        pi.cut_power()


def first_block(bench, root):
    """Its number in the file system of that root."""
    path = os.path.join(bench.folder, "root.img")
    with open(path, "wb") as file:
        file.write(root.read())
    blocks = run("debugfs", "-R", f"blocks {UNREAD}", path).decode().splitlines()[-1].split()
    os.remove(path)
    return int(blocks[0])


def counted(card, place):
    return card.agent_state.read(COUNT_BYTES, at=place).rstrip(b"\0")


def reads(bench):
    """Nobody answers: the machine restarts meanwhile."""
    client = bench.answers()
    client.patience = 20
    with contextlib.suppress(Missed, OSError, ValueError):
        said = client.call("system.set_timezone", timezone=ZONE)
        raise RuntimeError(f"the damaged file was read: {said}")
