"""QEMU is killed 20 times during an update, at seeded moments: a complete slot always boots, and the update resumes.

The device ends on 2.0.0, or on 1.0.0 after three killed trials, the most that a version gets."""

import os
import random

from fleet import INSTALL_SECONDS, TRIAL_SECONDS, Fleet
from wires import Missed

MINUTES = 3
KILLS = int(os.environ.get("RASPI_MCP_KILLS", "20"))
# After so many one device is left to finish: the server gives an update up that it had to take up again five times.
A_DEVICE = 4


def story(bench):
    seed = int(os.environ.get("RASPI_MCP_SEED", "20261122"))
    bench.says(f"seed {seed}, {KILLS} kills (RASPI_MCP_SEED and RASPI_MCP_KILLS set others)")
    chance, took, kills, device = random.Random(seed), None, 0, 0
    while kills < KILLS:
        device += 1
        with Fleet(bench, ("uboot", "tryboot")[device % 2]) as fleet:
            fleet.publish("2.0.0")
            # Once without being disturbed: how long is it from the call to the commit?
            took = took or undisturbed(fleet)
            mine = 0
            while kills < KILLS and mine < A_DEVICE and killed(bench, fleet, chance.uniform(0, took)):
                kills, mine = kills + 1, mine + 1
                bench.says(f"device {device}, kill {kills}")
            # Killed for the last time, it is left alone: it ends on the new version, unless it was there already.
            killed(bench, fleet, INSTALL_SECONDS + TRIAL_SECONDS, anyway=False)


def killed(bench, fleet, after, anyway=True):
    """Starts the machine and kills it so many seconds after the update began or went on; unless that was over before. Not
    `anyway`: it has to be over by then."""
    with fleet.power_on() as pi:
        if not fleet.begins_or_goes_on("2.0.0"):
            return False
        try:
            fleet.committed("2.0.0", within=after)
            return False
        except Missed:
            if not anyway:
                raise
            pi.cut_power()
            bench.says(f"killed {after:.1f} s after it went on")
            return True


def undisturbed(fleet):
    disk = fleet.disk.copy(fleet.disk.path + ".undisturbed")
    with fleet.power_on(disk) as pi:
        fleet.bench.healthy("A")
        began = pi.seconds()
        fleet.update("2.0.0")
        fleet.serves("B")
        fleet.committed("2.0.0")
        took = pi.seconds() - began
        fleet.bench.says(f"undisturbed, from the call to the commit: {took:.1f} s")
        return took
