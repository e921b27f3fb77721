"""Simulated days, each with every tool, a restart, daily timers and a power cut; no slot and no metadata of partition 1 is written."""

import datetime
import json
import os

import everyday
from image import BOOT_SECONDS, slots
from releases import Release
from webspace import WebSpace
from wires import Missed

MINUTES = 8
DAYS = int(os.environ.get("RASPI_MCP_DAYS", "3"))
MORNING = 8
# When bench-evening.service says it is, and who does something of every day before that.
EVENING = 20
DAILY = ("systemd-tmpfiles-clean.service", "fstrim.service", "bench-tidy.service")


def story(bench):
    card, space = bench.owned(updates=True), bench.space()
    # The owner's file becomes zeros where it lies; of all the rest of partition 1 not a bit changes.
    owners, config = card.config.get("raspi-mcp.toml"), card.config.read()
    bench.check("places where the owner's file lies", config.count(owners), 1)
    fixed, before = config.replace(owners, bytes(len(owners))), slots(card)
    # Not before the keys and certificates of the bench were made.
    today = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)).replace(hour=MORNING, minute=0, second=0, microsecond=0)
    # The release that it has already, and so none that it would take.
    bench.workshop.publish(Release("factory", 1, "", "", os.path.join(bench.images, "update.bundle")), space)
    with WebSpace(space, bench.workshop.certificate) as web:
        for number in range(1, DAYS + 1):
            day = Day(bench, number, today)
            day.spend(card, web)
            bench.says(f"day {number}, {day.began:%F %R} to {day.ended:%F %R}: {len(day.called)} tools, {day.calls} calls, {day.refused} errors, all of them expected")
            today += datetime.timedelta(days=1)
    changed = [name for name, sum in slots(card).items() if sum != before[name]]
    bench.check("hashes of both slots' partitions changed", changed, [])
    bench.check("partition 1 is as it was, but for the owner's file", card.config.read() == fixed, True)


class Day:
    """Every tool in the morning, a restart by one of them, the evening, and the end: of the last day by a tool, of others by the plug."""

    def __init__(self, bench, number, began):
        self.bench, self.number, self.began, self.ended = bench, number, began, began
        self.called, self.calls, self.refused, self.client = set(), 0, 0, None

    def spend(self, card, web):
        # The real-time clock says so at power-on, and goes by the machine's own time.
        clock = ("-rtc", f"base={self.began:%FT%T},clock=vm")
        with self.bench.power_on(card, web=web.port, more=clock) as pi:
            self.greet(self.bench.healthy("A"))
            tools = {tool["_meta"]["name"] for tool in self.client.request("tools/list", {"filter": {"enabled": True}})["tools"]}
            for group in everyday.GROUPS:
                self.follow(group(self))
            self.check("tools without a call in everyday.py", sorted(tools - self.called), [])
            self.call("system.reboot", {"delay_seconds": 0, "reason": "a restart a day"})
            pi.qmp.event("RESET", within=BOOT_SECONDS)
            self.greet(self.bench.healthy("A"))
            self.evening()
            if self.number == DAYS:
                self.call("system.shutdown", {"delay_seconds": 0, "reason": "the days are over"})
                self.check("why it went off", pi.qmp.ended(BOOT_SECONDS), "guest-shutdown")
            pi.cut_power()

    def evening(self):
        """The clock is moved; timers that systemd has by the clock are due."""
        self.call("service.start", {"service_name": "bench-evening.service"})
        self.ended = datetime.datetime.fromisoformat(self.call("system.get_clock", {})["time"].replace("Z", "+00:00"))
        self.check("the date and the hour, by the machine", (self.ended.date(), self.ended.hour), (self.began.date(), EVENING))
        since = f"{self.began.replace(hour=EVENING):%FT%TZ}"
        for unit in DAILY:
            finished = lambda: [
                entry for entry in self.call("logs.query_journal", {"unit": unit, "since": since})["entries"] if entry["message"].startswith("Finished ")]
            self.bench.awaits(finished, BOOT_SECONDS, f"end of {unit}")
        self.bench.says(f"day {self.number}: in the evening there ran {', '.join(DAILY)}")

    def greet(self, client):
        self.client = client
        client.patience = 300

    def follow(self, steps):
        answer = None
        while True:
            try:
                answer = self.call(*steps.send(answer))
            except StopIteration:
                return

    def call(self, tool, arguments, refusal=None):
        """Its structured result. Any other end than the one that is expected ends the story."""
        result = self.client.request("tools/call", {"name": tool, "arguments": arguments})
        said = result.get("_meta", {}).get("io.raspi-mcp/error", {}) if result.get("isError") else result["structuredContent"]
        self.called.add(tool)
        self.calls += 1
        self.refused += bool(refusal)
        if (code := said.get("error_code") if result.get("isError") else None) != refusal:
            raise Missed(f"{tool} {json.dumps(arguments)}: expected {refusal or 'no error'}, got {json.dumps(said)[:500]}")
        return said

    def check(self, what, got, wanted):
        self.bench.check(f"day {self.number}: {what}", got, wanted)

    def saw(self, what, number):
        self.check(f"{number} {what}, more than none", number > 0, True)
