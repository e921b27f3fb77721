"""Slot A boots and never reports healthy: three boots, each ended by its deadline, then slot B permanently."""


def story(bench):
    disk = bench.disk()
    disk.slot("A").arguments("drill=broken-server drill.deadline=1")
    with bench.power_on(disk) as pi:
        for left in (2, 1, 0):
            pi.console.expect(f"boot: slot A, {left} left after this one", within=60)
            pi.console.expect("slot A is not healthy", within=60)
            bench.says(f"slot A was left, with {left} boots to go")
        bench.healthy(slot="B")
        pi.mcp().call("system.get_basic_info")
        pi.power_off()
    with bench.power_on(disk) as pi:
        pi.console.expect("slot A has no boots left", within=20)
        bench.healthy(slot="B")
        pi.power_off()
