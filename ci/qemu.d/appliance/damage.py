"""Damage to a card: future settings, garbage in partition 1, in the agent's state, in the running root, in the data partition.

Each time the machine answers again as the one it was, to clients and to approvers."""

import os
import subprocess

from disk import MIB, run
from wires import Missed

MINUTES = 5
# A key that no version has yet.
NEXT = '[gpio]\nallow = [17]\nwhat_comes_next = "yes"\n'


def story(bench):
    card = bench.owned()
    with bench.power_on(card) as pi:
        first = bench.healthy("A").fingerprint, bench.page()[1]
        bench.awaits(lambda: card.state().left_A == 3, 300, "healthy boot of slot A")
        pi.cut_power()
    for tale in (settings_to_come, config_torn, state_torn, root_rots, data_destroyed):
        tale(bench, card, first)


def again(bench, card, slot, first, says=None):
    """The machine starts, says that on its console, and answers from that slot as the one it was: a client of it."""
    with bench.power_on(card) as pi:
        if says:
            bench.says(pi.console.expect(says, within=300).string.strip())
        client = bench.answers()
        client.patience = 120
        status = client.call("manage.get_update_status")
        bench.check("slot that runs", next(row["slot"] for row in status["slots"] if row["running"]), slot)
        bench.check("the same certificate and device ID", (client.fingerprint, bench.page()[1]) == first, True)
        yield client
        # U-Boot counts boots until one is found healthy, and a slot that was cut off three times before that is left.
        bench.awaits(lambda: getattr(card.state(), f"left_{slot}") == 3, 300, f"healthy boot of slot {slot}")
        pi.cut_power()


def settings_to_come(bench, card, first):
    bench.says("/etc/raspi-mcp has a file that only a newer version understands")
    source = os.path.join(bench.folder, "60-next.toml")
    with open(source, "w") as file:
        file.write(NEXT)
    on_data(bench, card, f"write {source} /shared/etc/raspi-mcp/60-next.toml")
    for client in again(bench, card, "A", first):
        summary = client.call("manage.get_server_status")["config_summary"]
        bench.says(f"it is restricted: {summary['restricted'][0]}")
    on_data(bench, card, "rm /shared/etc/raspi-mcp/60-next.toml")


def on_data(bench, card, request):
    """Changes the data partition as a person with the card in a PC does: its journal is played back first."""
    image = os.path.join(bench.folder, "data.img")
    with open(image, "wb") as file:
        file.write(card.data.read())
    # 1: there was something to mend.
    if subprocess.run(["e2fsck", "-p", image], stdout=subprocess.DEVNULL).returncode > 1:
        raise Missed("the data partition cannot be mended")
    run("debugfs", "-w", "-R", request, image)
    with open(image, "rb") as file:
        card.data.write(file.read())
    os.remove(image)


def config_torn(bench, card, first):
    bench.says("of partition 1 the second copy of the FAT is garbage; U-Boot still finds its script")
    head = card.config.read(512)
    reserved, fats, sectors = (int.from_bytes(head[at:at + size], "little") for at, size in ((14, 2), (16, 1), (22, 2)))
    card.config.garbage(sectors * 512, at=(reserved + (fats - 1) * sectors) * 512)
    for _ in again(bench, card, "A", first):
        pass


def state_torn(bench, card, first):
    places = [copy * card.agent_state.size // 4 for copy in (1, 2)]
    for copy, at in enumerate(places, 1):
        bench.says(f"copy {copy} of the agent's state is garbage (docs/update.md); the other one was written by the starts before")
        card.agent_state.garbage(MIB, at=at)
        # With the owner's token.
        for _ in again(bench, card, "A", first):
            pass
        bench.check("copies that begin as one", [card.agent_state.read(8, at=place) for place in places], [b"RMSTATE1"] * 2)


def root_rots(bench, card, first):
    bench.says("4 MiB of garbage over the root of slot A, which is the one that runs")
    card.slot("A").root.garbage()
    for _ in again(bench, card, "B", first, says="initramfs: .* is damaged"):
        pass


def data_destroyed(bench, card, first):
    bench.says("all of the data partition is garbage")
    card.data.garbage(card.data.size)
    for _ in again(bench, card, "B", first, says="initramfs: .*data of this boot goes with it"):
        pass
