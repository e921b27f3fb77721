"""Two cards of a fleet get a release by a rollout: one commits it, the other is sick with it; it goes back, and the rollout stops.

The plan and its indexes are signed beforehand; devices that check the channel by themselves install what it offers."""

import json
import os
import re
import subprocess

from broker import Broker, started
from image import UPDATE_SECONDS
from member import Member
from owner import ours, program
from releases import CHANNEL
from webspace import WebSpace

# What a file of the owner's in /etc/raspi-mcp would say. The channel is checked one to five minutes after each start.
AUTOMATIC = "systemd.setenv=RASPI_MCP__UPDATE__AUTOMATIC=true systemd.setenv=RASPI_MCP__UPDATE__CHECK_INTERVAL_HOURS=720"
VERSION = "2.0.0"
PLAN = """version = "{version}"
channel = "{channel}"
folder = "{folder}"
silent_minutes = 1440
[stop]
failed_count = 1
failed_percent = 100
silent_percent = 100
[[stages]]
percent = 100
min_committed = 2
soak_minutes = 0
"""


def story(bench):
    space = bench.space()
    with Broker(bench.folder) as fleet, WebSpace(space, bench.workshop.certificate) as web:
        well, sick = (Member(bench, fleet, name) for name in ("kitchen", "attic"))
        for member in (well, sick):
            with member.power_on(web=web.port, arguments=AUTOMATIC) as pi:
                member.joins(pi)
                pi.cut_power()
        # Its server does not start on a machine that is called attic.
        bench.offer(VERSION, 2, space, "ci/image.d/sick-attic", percent=0)
        plan, start = signed(bench, fleet, space)
        with started(*start), well.power_on(web=web.port) as pi:
            well.reports()
            bench.ended(VERSION, "committed", "B")
            committed = lambda: (now := status(fleet, plan))["now"]["committed"] == 1 and now
            now = bench.awaits(committed, 200, "rollout with a device that committed")
            bench.says(f"the rollout, {now['phase']}: {now['why']}")
            pi.cut_power()
        with sick.power_on(web=web.port) as pi:
            sick.reports()
            stopped(bench, fleet, start)
            pi.cut_power()


def signed(bench, fleet, space):
    """A plan for all devices, signed: its file, and the command of a controller."""
    plan = os.path.join(bench.folder, "plan.toml")
    with open(plan, "w") as file:
        file.write(PLAN.format(version=VERSION, channel=CHANNEL, folder=space))
    workshop = bench.workshop
    said = ours("fleet", "rollout", "sign", plan, "--key", f"{workshop.keys['channel']}.key", "--trust", workshop.trust)
    known = re.search(r"^hash +(\S+)", said, re.M).group(1)
    bench.says(f"{VERSION} is in the channel for nobody; a plan for both is signed: {known[:16]}...")
    return plan, ("fleet", "rollout", "start", plan, "--dir", fleet.dir, "--hash", known)


def status(fleet, plan):
    return json.loads(fleet.command("rollout", "status", plan, "--json"))


def stopped(bench, fleet, start):
    """Another controller goes on, until the rollout is over, and says why."""
    done = subprocess.run([program(), *start], capture_output=True, text=True, timeout=UPDATE_SECONDS)
    for line in (done.stdout + done.stderr).strip().splitlines():
        bench.says(f"the rollout: {line}")
    named = re.findall(r"^  (\S+): ", done.stdout, re.M)
    bench.check("how the controller ends, and whom it names", (done.returncode, named), (1, ["attic"]))
    bench.ended(VERSION, "rolled_back", "A")
    found = {row["name"]: (row["version"] == VERSION, row["last_attempt"]["phase"]) for row in map(fleet.row, ("kitchen", "attic"))}
    bench.check("who runs it, and how their updates ended", found, {"kitchen": (True, "committed"), "attic": (False, "rolled_back")})
