"""tryboot as on a Raspberry Pi: a restart with the argument tries the other slot once; a power cut clears the flag."""

RESTART = "/usr/bin/systemctl --no-block"


def story(bench):
    disk = bench.disk()
    with bench.power_on(disk, flow="tryboot") as pi:
        bench.healthy(slot="A")
        pi.hand.run(f"{RESTART} '--reboot-argument=0 tryboot' reboot")
        bench.healthy(slot="B")
        read = "cd /proc/device-tree/chosen/bootloader; cat partition tryboot | od -An -tx1"
        bench.check("what the kernel is told of it", pi.hand.run(read).split(), "00 00 00 03 00 00 00 01".split())
        pi.hand.run(f"{RESTART} reboot")
        bench.healthy(slot="A")
        pi.power_off()

    bench.says("the trial's slot dies before its root is there; whatever restarts the machine, the trial is over")
    disk.slot("B").arguments("drill=hang-early")
    with bench.power_on(disk, flow="tryboot") as pi:
        bench.healthy(slot="A")
        pi.hand.run(f"{RESTART} '--reboot-argument=0 tryboot' reboot")
        pi.console.expect("initramfs: hanging", within=60)
        bench.healthy(slot="A")
        bench.check("what was started", pi.starts, [(2, False), (3, True), (2, False)])
        pi.power_off()

    bench.says("A's root rots: its initramfs asks for the other slot")
    disk = bench.disk()
    disk.slot("A").root.garbage()
    with bench.power_on(disk, flow="tryboot") as pi:
        bench.healthy(slot="B")
        bench.check("what was started", pi.starts, [(2, False), (3, True)])
        pi.power_off()
