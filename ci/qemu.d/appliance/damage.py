"""What nobody wishes a card: garbage over the active slot, the data partition, the agent's state, partition 1; it answers again each time."""

from disk import MIB


def story(bench):
    card = bench.owned()
    with bench.power_on(card) as pi:
        first = bench.healthy("A").fingerprint
        pi.cut_power()
    for tale in (root_rots, data_destroyed, state_torn, config_torn):
        bench.machine = None
        tale(bench, card, first)


def again(bench, card, slot, first, says=None):
    with bench.power_on(card) as pi:
        if says:
            bench.says(pi.console.expect(says, within=300).string.strip())
        client = bench.answers()
        status = client.call("manage.get_update_status")
        running = next(row["slot"] for row in status["slots"] if row.get("booted"))
        bench.check("slot that runs", running, slot)
        bench.check("the same identity", client.fingerprint, first)
        pi.cut_power()


def root_rots(bench, card, first):
    bench.says("4 MiB of garbage over the root of slot A, which is the one that runs")
    card.slot("A").root.garbage()
    again(bench, card, "B", first, says="initramfs: .* is damaged")


def data_destroyed(bench, card, first):
    bench.says("the data partition is garbage")
    card.data.garbage(16 * MIB)
    again(bench, card, "B", first, says="initramfs: .*data of this boot goes with it")


def state_torn(bench, card, first):
    bench.says("one copy of the agent's state is garbage")
    card.agent_state.garbage(MIB, at=card.agent_state.size // 4)
    again(bench, card, "B", first)


def config_torn(bench, card, first):
    bench.says("of partition 1 the second copy of the FAT is garbage; U-Boot still finds its script")
    head = card.config.read(512)
    reserved, fats, sectors = (int.from_bytes(head[at:at + size], "little") for at, size in ((14, 2), (16, 1), (22, 2)))
    card.config.garbage(sectors * 512, at=(reserved + (fats - 1) * sectors) * 512)
    again(bench, card, "B", first)
