"""The conversation of ten tools that every test environment must pass (tests/it/grounds.rs), with this guest."""

import os
import subprocess

from wires import Missed

COMMAND = ["cargo", "test", "--locked", "--quiet", "--test", "it", "--", "grounds::ten_tools", "--nocapture"]


def story(bench):
    with bench.power_on(bench.disk()) as pi:
        bench.healthy(slot="A")
        url = f"http://127.0.0.1:{pi.qmp.forwarded_port()}/mcp"
        bench.says(f"RASPI_MCP_GROUND={url} {' '.join(COMMAND)}")
        done = subprocess.run(COMMAND, env=os.environ | {"RASPI_MCP_GROUND": url}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = [line for line in done.stdout.splitlines() if "tools answered alike" in line]
        # A filter that matches nothing is a success to cargo.
        if done.returncode or not said:
            hint = "is the guest's binary of this commit? ./ci/cross aarch64"
            raise Missed(f"the conversation went otherwise ({hint}):\n{done.stdout}")
        bench.says(said[0])
        pi.power_off()
