"""A release is kept through five starts during which the update channel does not answer: that says nothing of the release.

U-Boot counts starts, and leaves a slot that was not found healthy in three of them."""

from image import UPDATE_SECONDS
from webspace import WebSpace

STARTS = 5


def story(bench):
    card = bench.owned(updates=True)
    space = bench.space()
    bench.offer("2.0.0", 2, space)
    with WebSpace(space, bench.workshop.certificate) as web, bench.power_on(card, web=web.port) as pi:
        client = bench.healthy("A")
        client.patience = UPDATE_SECONDS
        client.call("manage.update_server", _meta={"progressToken": "update"}, target_version="2.0.0")
        bench.ended("2.0.0", "committed", "B")
        pi.cut_power()
    for start in range(1, STARTS + 1):
        with bench.power_on(card) as pi:
            slot, left = pi.console.expect(r"raspi-mcp boot: slot (\S+), (\d) left", 60).groups()
            bench.check(f"start {start}, slot and starts left to it", (slot, left), ("B", "2"))
            bench.awaits(lambda: card.state().left_B == 3, 300, "healthy start of slot B")
            bench.says("found healthy")
            client = bench.answers()
            # The guest waits for the channel by its own clock, which a loaded computer slows down.
            client.patience = UPDATE_SECONDS
            asked = client.request("tools/call", {"name": "manage.check_for_updates", "arguments": {}})
            error = asked.get("_meta", {}).get("io.raspi-mcp/error", {})
            bench.check("the channel's answer", error.get("error_code"), "unavailable")
            pi.cut_power()
