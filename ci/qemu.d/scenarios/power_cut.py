"""The power is cut in the middle of every boot: each boot was counted before it began, and three are enough."""


def story(bench):
    disk = bench.disk()
    for left in (2, 1, 0):
        with bench.power_on(disk) as pi:
            pi.console.expect(f"boot: slot A, {left} left after this one", within=20)
            pi.cut_power()
        bench.check("cut during a boot of A; boots it has left", disk.state().left_A, left)
    with bench.power_on(disk) as pi:
        bench.healthy(slot="B")
        pi.power_off()
