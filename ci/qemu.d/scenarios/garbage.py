"""Slot A has garbage in its boot files, its kernel or its root: slot B boots and answers."""


def story(bench):
    bench.says("A's boot partition is garbage: its files do not load")
    disk = bench.disk()
    disk.slot("A").boot.garbage()
    falls_back(bench, disk)

    bench.says("A's kernel is garbage: it loads, and is no kernel")
    disk = bench.disk()
    disk.slot("A").boot.put_bytes("Image", b"this is not a kernel" * 1000)
    falls_back(bench, disk)

    bench.says("A's root is garbage: the kernel starts and finds nothing to mount; this was its last boot")
    disk = bench.disk()
    disk.slot("A").root.garbage()
    disk.set_state(left_A=1)
    falls_back(bench, disk, why="is no root file system")


def falls_back(bench, disk, why="slot A does not load"):
    with bench.power_on(disk) as pi:
        pi.console.expect(why, within=60)
        bench.healthy(slot="B")
        pi.mcp().call("system.get_basic_info")
        pi.power_off()
    bench.check("boots left of A and B", (disk.state().left_A, disk.state().left_B), (0, 3))
