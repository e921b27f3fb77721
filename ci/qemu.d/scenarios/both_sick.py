"""Neither slot loads. The machine keeps trying, and boots by itself once one slot loads."""


def story(bench):
    disk = bench.disk()
    kernel = disk.slot("B").boot.get("Image")
    for slot in "AB":
        disk.slot(slot).boot.remove("Image")
    with bench.power_on(disk) as pi:
        for attempt in (1, 2):
            pi.console.expect("no slot is left, both get three boots again", within=20)
            bench.says(f"attempt {attempt}: neither slot loads, both are kept for the next one")
        pi.cut_power()
    disk.slot("B").boot.put_bytes("Image", kernel)
    with bench.power_on(disk) as pi:
        bench.healthy(slot="B")
        pi.power_off()
