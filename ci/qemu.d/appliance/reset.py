"""A file with a slip in it is told by its line and stays; a good one is taken and erased; a reset by hand leaves nobody's machine, and
makes data anew where it was lost."""

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
        first = bench.answers().fingerprint
        pi.cut_power()
    if card.config.get(FILE).strip(b"\0"):
        raise Missed("the file that was taken is still on the card")
    bench.says("the file that was taken is zeros on the card")

    second = reset(bench, card, first, wiped="initramfs: a factory reset: .*")
    bench.says("all of the data partition is garbage")
    card.data.garbage(card.data.size)
    reset(bench, card, second, wiped="initramfs: .* is blank: a file system is made")


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
