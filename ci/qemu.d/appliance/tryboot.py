"""As on a Raspberry Pi: trials by the firmware's one-shot flag, commits by autoboot.txt. A failed trial is rolled back, and a damaged root is left."""

from firmware import sections
from image import UPDATE_SECONDS
from webspace import WebSpace

MINUTES = 8
# The partitions that slots are started from.
A, B = 2, 3


def story(bench):
    bench.tryboot()
    updates(bench)
    damage(bench)


def updates(bench):
    card, space = bench.owned(updates=True), bench.space()
    with WebSpace(space, bench.workshop.certificate) as web:
        with bench.power_on(card, web=web.port) as pi:
            client = bench.healthy("A")
            bench.offer("2.0.0", 2, space)
            update(client, "2.0.0")
            bench.says("2.0.0 is written")
            bench.ended("2.0.0", "committed", "B")
            bench.check("partitions that the firmware started, and whether as a trial", pi.starts, [(A, False), (B, True)])
            bench.check("autoboot.txt", named(card), (B, A))
            pi.cut_power()
        with bench.power_on(card, web=web.port) as pi:
            client = bench.healthy("B")
            bench.offer("3.0.0", 3, space, "ci/image.d/bad")
            update(client, "3.0.0")
            bench.says("3.0.0 is written, whose server never answers")
            bench.ended("3.0.0", "rolled_back", "B")
            bench.check("partitions that the firmware started", pi.starts, [(B, False), (A, True), (B, False)])
            bench.check("autoboot.txt", named(card), (B, A))
            pi.cut_power()


def update(client, version):
    client.patience = UPDATE_SECONDS
    client.call("manage.update_server", target_version=version)


def named(card):
    """The partitions that autoboot.txt names: for a start, and for a trial."""
    said = sections(card.config.get("autoboot.txt"))
    return int(said["all"]["boot_partition"]), int(said["tryboot"]["boot_partition"])


def damage(bench):
    bench.machine = None
    card = bench.owned()
    card.slot("A").root.garbage()
    bench.says("4 MiB of garbage over the root of slot A")
    with bench.power_on(card) as pi:
        bench.says(pi.console.expect("initramfs: .*restarting into the other slot", within=400).string.strip())
        client = bench.answers()
        client.patience = 120
        slots = client.call("manage.get_update_status")["slots"]
        bench.check("slot that runs", next(row["slot"] for row in slots if row["running"]), "B")
        bench.check("partitions that the firmware started", pi.starts, [(A, False), (B, True)])
        pi.cut_power()
