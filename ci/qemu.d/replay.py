"""Records every write and flush of an update; `examples/replay` cuts the power at each of them."""

import os
import subprocess

from fleet import Fleet
from wires import Missed


def story(bench, flow):
    with Fleet(bench, flow) as fleet:
        release = fleet.publish("2.0.0")
        before, log = fleet.disk.copy(fleet.disk.path + ".before"), os.path.join(bench.folder, f"{flow}.writes")
        open(log, "wb").close()
        with fleet.power_on(writes=log) as pi:
            bench.healthy("A")
            fleet.update("2.0.0")
            fleet.serves("B")
            fleet.committed("2.0.0")
            pi.power_off()
        command = [os.environ["RASPI_MCP_REPLAY"], "--log", log, "--before", before.path,
                   "--new", release.boot, release.root, "--chain", flow]
        # Without the flushes, some cuts must leave nothing that boots; otherwise the replay proves nothing.
        for more in ([], ["--ignore-flushes", "--torn", "300"]):
            done = subprocess.run(command + more, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for line in done.stdout.splitlines():
                bench.says(line)
            if done.returncode:
                raise Missed(f"{' '.join(command + more)} ended with {done.returncode}")
