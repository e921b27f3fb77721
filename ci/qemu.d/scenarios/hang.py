"""Slot A hangs, early or late: the watchdog restarts the machine, and when slot A has no boots left, slot B boots."""


def story(bench):
    bench.says("A hangs in its initramfs, before there is a root")
    disk = hanging(bench, "hang-early")
    with bench.power_on(disk) as pi:
        pi.console.expect("initramfs: hanging", within=60)
        bitten(bench, pi)
        pi.power_off()

    bench.says("A's kernel dies after its server has started, and does not restart by itself")
    disk = hanging(bench, "broken-server panic=0")
    with bench.power_on(disk) as pi:
        pi.console.expect("bench: the server of this slot does not start", within=60)
        pi.hand.send("echo c >/proc/sysrq-trigger")
        pi.console.expect("end Kernel panic", within=20)
        bitten(bench, pi)
        pi.power_off()


def hanging(bench, drill):
    disk = bench.disk()
    disk.slot("A").arguments(f"drill={drill}")
    disk.set_state(left_A=1)
    return disk


def bitten(bench, pi):
    pi.qmp.event("WATCHDOG", within=60)
    bench.says("the watchdog has bitten")
    bench.healthy(slot="B")
