"""A trial of the other slot, as an update does it: B is tried first, is healthy, and becomes the default."""


def story(bench):
    disk = bench.disk()
    with bench.power_on(disk) as pi:
        bench.healthy(slot="A")
        pi.hand.run("/bench/boot-state set 'ab_order=B A' ab_left_B=1")
        pi.hand.send("kill -TSTP 1; /bench/stop; reboot -f")
        bench.healthy(slot="B")
        bench.says("after the restart B is up: its one boot was enough")
        pi.power_off()
    state = disk.state()
    bench.check("order, boots left of A and B", (state.order, state.left_A, state.left_B), ("B A", 3, 3))
