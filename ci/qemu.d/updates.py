"""The story of updates, for both boot flows: what a good release, three bad ones and a rotten card do to a device."""

from fleet import TRIAL_SECONDS, Fleet
from releases import BALLAST_BYTES

# Beside the ballast an update fetches the manifest, the index, and the blocks with version, checksums and time.
FETCHED_AT_MOST = BALLAST_BYTES * 5 // 4


TRIALS = 3


def story(bench, flow):
    with Fleet(bench, flow) as fleet:
        good(bench, fleet)
        rotten = fleet.disk.copy(fleet.disk.path + ".rotten")
        bad(bench, fleet)
        rots(bench, fleet, rotten)


def good(bench, fleet):
    bench.says("1.0.0 in both slots, 2.0.0 in the channel")
    fleet.publish("2.0.0")
    with fleet.power_on() as pi:
        fleet.serves("A")
        fetched = fleet.update("2.0.0")
        bench.check(f"not more than {FETCHED_AT_MOST >> 10} KiB were fetched", fetched <= FETCHED_AT_MOST, True)
        fleet.serves("B")
        fleet.committed("2.0.0")
        bench.check("the image that runs says it is", fleet.runs(), "2.0.0")
        pi.hand.run("/usr/bin/systemctl --no-block reboot")
        fleet.serves("B")
        pi.power_off()


def bad(bench, fleet):
    with fleet.power_on() as pi:
        fleet.serves("B")

        bench.says("3.0.0, whose server crashes as soon as it listens")
        fleet.publish("3.0.0", "crashing-server")
        fleet.update("3.0.0")
        pi.console.expect("the server of this slot crashed", within=TRIAL_SECONDS)
        fleet.serves("B", within=TRIAL_SECONDS)
        fleet.is_back("3.0.0", because="not healthy within")

        bench.says("4.0.0, whose kernel panics: it has no first process")
        fleet.publish("4.0.0", "no-init")
        fleet.update("4.0.0")
        # Nobody knows why a machine restarts, so it is tried again, and then no more.
        for _ in range(TRIALS):
            pi.console.expect("end Kernel panic", within=TRIAL_SECONDS)
            fleet.serves("B", within=TRIAL_SECONDS)
        fleet.is_back("4.0.0", because="died before the agent started")

        bench.says("5.0.0, which hangs before anybody keeps the watchdog quiet")
        fleet.publish("5.0.0", "hanging")
        fleet.update("5.0.0")
        for _ in range(TRIALS):
            pi.console.expect("hanging, as the drill says", within=TRIAL_SECONDS)
            fleet.serves("B", within=TRIAL_SECONDS)
        fleet.is_back("5.0.0", because="died before the agent started")
        pi.power_off()


def rots(bench, fleet, disk):
    bench.says("2.0.0 was committed; then its root rots, and 1.0.0 is still there")
    disk.slot("B").root.garbage()
    with fleet.power_on(disk) as pi:
        pi.console.expect("initramfs: .* is no root file system", within=TRIAL_SECONDS)
        fleet.serves("A", within=TRIAL_SECONDS)
        bench.check("it says of slot B", fleet.slot("B")["state"], "bad")
        pi.power_off()
