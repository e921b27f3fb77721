"""The boot state loses one copy, then both: the machine boots anyway, and both copies are valid again afterwards."""

from disk import BootState


def story(bench):
    bench.says("a torn write: the newer copy, which put B first, is garbage")
    disk = bench.disk()
    disk.set_state(order="B A")
    newer = max(disk.copies, key=lambda copy: BootState.decode(copy.read()).seq)
    newer.garbage(100)
    comes_up(bench, disk, slot="A", copy="[12]")

    bench.says("both copies are garbage, and A does not load")
    disk = bench.disk()
    for copy in disk.copies:
        copy.garbage()
    disk.slot("A").boot.garbage()
    comes_up(bench, disk, slot="B", copy="0")


def comes_up(bench, disk, slot, copy):
    with bench.power_on(disk) as pi:
        pi.console.expect(f"boot: state copy {copy},", within=20)
        bench.healthy(slot)
        pi.power_off()
    valid = [BootState.decode(raw.read()) is not None for raw in disk.copies]
    bench.check("copies of the state that are valid again", valid, [True, True])
