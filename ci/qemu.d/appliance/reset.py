"""A provisioning file with a mistake is reported by line and stays; a valid one is applied and erased; a reset removes the owner.

The reset also creates a new data partition where it was lost."""

from disk import MIB
from wires import Missed

FILE = "raspi-mcp.toml"


def story(bench):
    card, slip = bench.card(), b'nam = "porch"\n'
    card.config.put_bytes(FILE, slip)
    with bench.power_on(card) as pi:
        bench.says(pi.console.expect(r"raspi-mcp\.toml:1:1: .*", within=400).group().strip())
        pi.console.expect("unclaimed", within=60)
        pi.cut_power()
    bench.check("the file with the slip", card.config.get(FILE), slip)

    bench.machine = None
    card = bench.owned()
    with bench.power_on(card) as pi:
        first, before = bench.answers().fingerprint, bench.page()
        pi.cut_power()
    if card.config.get(FILE).strip(b"\0"):
        raise Missed("the file that was taken is still on the card")
    bench.says("the file that was taken is zeros on the card")

    second = reset(bench, card, first, wiped="initramfs: a factory reset: .*")
    with bench.power_on(card) as pi:
        after = bench.awaits(bench.page, 400, "approval page")
        bench.check("the page and the device have other keys", [new == old for new, old in zip(after, before)], [False, False])
        pi.cut_power()
    bench.says("all of the data partition is garbage")
    card.data.garbage(card.data.size)
    reset(bench, card, second, wiped="initramfs: .* is blank: it is formatted")
    half_made(bench, card)


def reset(bench, card, was, wiped):
    """A reset by hand, and what the initramfs then does with the data partition; the fingerprint of the key made after it."""
    bench.machine = None
    card.config.put_bytes("factory-reset", b"reset\n")
    with bench.power_on(card) as pi:
        pi.console.expect("this machine was reset", within=400)
        bench.says("reset; it restarts")
        bench.says(pi.console.expect(wiped, within=400).string.strip())
        made = pi.console.expect(r"a key was made: (\S+)", within=400).group(1)
        pi.console.expect("unclaimed", within=60)
        if made == was:
            raise Missed("it has the same key as before")
        bench.says("another key, and nobody's machine")
        pi.cut_power()
    return made


def half_made(bench, card):
    """What a power cut leaves of a file system that is being made; and garbage that nobody was making."""
    for mark, mounted, says in (
        (b"making-data", b"\0\0\0\0", "initramfs: .* has half a file system: it is formatted"),
        # Somebody has mounted it: it is theirs, whatever the mark says.
        (b"making-data", b"once", "initramfs: .*data of this boot goes with it"),
        (b"", b"\0\0\0\0", "initramfs: .*data of this boot goes with it"),
    ):
        card.data.garbage(card.data.size)
        card.data.write(mounted, at=1024 + 44)
        card.agent_state.write(mark.ljust(512), at=8192)
        before = card.data.read(MIB)
        bench.machine = None
        with bench.power_on(card) as pi:
            bench.says(pi.console.expect(says, within=400).string.strip())
            pi.console.expect("unclaimed", within=300)
            pi.cut_power()
        bench.check("what was there is there", card.data.read(MIB) == before, "goes with it" in says)
        bench.check("the mark", card.agent_state.read(512, at=8192).strip(b" \0") == mark, "goes with it" in says)
