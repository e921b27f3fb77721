"""The story of updates, for both boot flows: what a good release, three bad ones and a rotten card do to a device."""

from fleet import TRIAL_SECONDS, Fleet
from releases import BALLAST_BYTES

# Beside the ballast an update fetches the manifest, the index, and the blocks with version, checksums and time.
FETCHED_AT_MOST = BALLAST_BYTES * 5 // 4


TRIALS = 3


def story(bench, flow):
    with Fleet(bench, flow) as fleet:
        good(bench, fleet)
        # Each on a card of its own: the agent begins four restarts an hour, and three of them are one bad release.
        for tale in (crashes, panics, hangs, rots):
            tale(bench, fleet, fleet.disk.copy(f"{fleet.disk.path}.{tale.__name__}"))


def good(bench, fleet):
    bench.says("1.0.0 in both slots, 2.0.0 in the channel")
    fleet.publish("2.0.0")
    with fleet.power_on() as pi:
        bench.healthy("A")
        fetched = fleet.update("2.0.0")
        bench.check(f"not more than {FETCHED_AT_MOST >> 10} KiB were fetched", fetched <= FETCHED_AT_MOST, True)
        fleet.serves("B")
        fleet.committed("2.0.0")
        bench.check("the image that runs says it is", fleet.runs(), "2.0.0")
        pi.hand.run("/usr/bin/systemctl --no-block reboot")
        bench.healthy("B")
        pi.power_off()


def crashes(bench, fleet, disk):
    bench.says("3.0.0, whose server crashes as soon as it listens")
    fleet.publish("3.0.0", "crashing-server")
    with fleet.power_on(disk) as pi:
        bench.healthy("B")
        fleet.update("3.0.0")
        pi.console.expect("the server of this slot crashed", within=TRIAL_SECONDS)
        fleet.serves("B", within=TRIAL_SECONDS)
        fleet.is_back("3.0.0", because="not healthy within")
        pi.power_off()


def panics(bench, fleet, disk):
    bench.says("4.0.0, whose kernel panics: it has no first process")
    fleet.publish("4.0.0", "no-init")
    # With tryboot each start is another QEMU, whose memory is empty.
    panic = "Kernel panic - not syncing"
    dies(bench, fleet, disk, "4.0.0", says=panic, last_words=panic if fleet.flow == "uboot" else None)


def hangs(bench, fleet, disk):
    bench.says("5.0.0, which hangs before anybody keeps the watchdog quiet")
    fleet.publish("5.0.0", "hanging")
    dies(bench, fleet, disk, "5.0.0", says="hanging, as the drill says")


def dies(bench, fleet, disk, version, says, last_words=None):
    """Nobody knows why a machine restarts that says nothing: it is tried again, and then no more."""
    with fleet.power_on(disk) as pi:
        bench.healthy("B")
        fleet.update(version)
        for _ in range(TRIALS):
            pi.console.expect(says, within=TRIAL_SECONDS)
            fleet.serves("B", within=TRIAL_SECONDS)
        fleet.is_back(version, because="died before the agent started", last_words=last_words)
        pi.power_off()


def rots(bench, fleet, disk):
    bench.says("2.0.0 was committed; then its root rots, and 1.0.0 is still there")
    disk.slot("B").root.garbage()
    with fleet.power_on(disk) as pi:
        pi.console.expect("initramfs: .* is no root file system", within=TRIAL_SECONDS)
        fleet.serves("A", within=TRIAL_SECONDS)
        bench.healthy("A")
        bench.check("it says of slot B", fleet.slot("B")["state"], "bad")
        pi.power_off()
