"""QEMU is killed 20 times while the device updates, at seeded moments: it always starts a whole slot, goes on, and ends on 2.0.0."""

import os
import random
import threading

from fleet import INSTALL_SECONDS, TRIAL_SECONDS, Fleet

KILLS, DEVICES = 20, 5


def story(bench):
    seed = int(os.environ.get("RASPI_MCP_SEED", "20261122"))
    bench.says(f"seed {seed} (RASPI_MCP_SEED sets another)")
    chance = random.Random(seed)
    took = None
    for device in range(DEVICES):
        with Fleet(bench, ("uboot", "tryboot")[device % 2]) as fleet:
            fleet.publish("2.0.0")
            if took is None:
                # Once without being disturbed: how long is it from the call to the commit?
                took = undisturbed(fleet)
                bench.says(f"undisturbed, from the call to the commit: {took:.1f} s")
            for kill in range(KILLS // DEVICES):
                with fleet.power_on() as pi:
                    fleet.begins_or_goes_on("2.0.0")
                    after = chance.uniform(0, took)
                    # Not a pause: the moment of the kill is what is tried here.
                    threading.Event().wait(after)
                    pi.cut_power()
                bench.says(f"device {device + 1}, kill {kill + 1}: {after:.1f} s after it went on")
            with fleet.power_on():
                fleet.begins_or_goes_on("2.0.0")
                fleet.committed("2.0.0", within=INSTALL_SECONDS + TRIAL_SECONDS)


def undisturbed(fleet):
    disk = fleet.disk.copy(fleet.disk.path + ".undisturbed")
    with fleet.power_on(disk) as pi:
        fleet.serves("A")
        began = pi.seconds()
        fleet.update("2.0.0")
        fleet.serves("B")
        fleet.committed("2.0.0")
        return pi.seconds() - began
