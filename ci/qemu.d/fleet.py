"""What the stories of updates share: a disk with release 1.0.0 in both slots, a web space with a channel, and words for what
happens to them."""

import os

from machine import BOOT_SECONDS
from releases import CHANNEL
from wires import Missed
from webspace import WebSpace

# From the call to the restart: the card is read, compared, written and read back, emulated.
INSTALL_SECONDS = 240
# From the kernel's start to a trial's end: its deadline of 30 s, and the way there.
TRIAL_SECONDS = 120


class Fleet:
    """One device and its web space. A context manager."""

    def __init__(self, bench, flow):
        self.bench, self.flow, self.workshop = bench, flow, bench.workshop
        self.space = os.path.join(bench.folder, "web")
        self.first = self.workshop.release("1.0.0")
        self.disk = bench.disk()
        for slot in self.disk.slots.values():
            self.workshop.install(self.first, slot)
        self.web = WebSpace(self.space, bench.workshop.certificate)

    def __enter__(self):
        self.web.__enter__()
        return self

    def __exit__(self, *problem):
        self.web.__exit__(*problem)

    def power_on(self, disk=None, **wires):
        return self.bench.power_on(disk or self.disk, flow=self.flow, web=self.web.port, **wires)

    def publish(self, version, drill=""):
        """That release is what the channel offers from now on."""
        release = self.workshop.release(version, drill)
        self.workshop.publish(release, self.space)
        return release

    def serves(self, slot, within=BOOT_SECONDS):
        """Waits until the server in that slot answers."""
        found = self.bench.machine.console.expect(r"bench: slot (\S+) serves", within)[1]
        if found != slot:
            raise Missed(f"slot {found} came up instead of slot {slot}")
        self.bench.says(f"slot {slot} serves")

    def update(self, version):
        """Has the device update itself, and waits until it restarts for the trial."""
        pi = self.bench.machine
        before = self.web.counted(".bundle")
        pi.mcp().call("manage.update_server", channel=CHANNEL, target_version=version)
        restarts = {r"bench: going down: reboot": True, r"ERROR.*update": False}
        going, line = pi.console.first(restarts, INSTALL_SECONDS)
        if not going:
            raise Missed(f"no update: {line.string}")
        self.bench.says(f"{version} is written; {(self.web.counted('.bundle') - before) >> 10} KiB were fetched; it restarts")

    def status(self):
        return self.bench.machine.mcp().call("manage.get_update_status")
