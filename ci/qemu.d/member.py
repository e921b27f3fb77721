"""A card that is claimed by its owner, and becomes a member of a fleet."""

import os

from image import SERVER
from owner import Owner, shown


class Member:
    """A card of its own, with the name of the machine and the source of its updates on partition 1. It is nobody's yet."""

    def __init__(self, bench, fleet, name):
        self.bench, self.fleet, self.name, self.card = bench, fleet, name, bench.card(name)
        self.owner, self.token, self.fingerprint = Owner(bench.folder, f"owner-of-{name}"), None, None
        self.token_file = os.path.join(bench.folder, f"{name}.token")
        self.card.config.put_bytes("raspi-mcp.toml", f'name = "{name}"\n{bench.source()}'.encode())

    def power_on(self, **wires):
        """As the bench does, with the fleet's broker."""
        self.bench.token = self.token
        return self.bench.power_on(self.card, broker=self.fleet.port, **wires)

    def joins(self, pi):
        """It is claimed, with an approver, and enrolled by that one's orders; from the next start on it is a member."""
        code, self.fingerprint, self.owner.device = shown(pi.console)
        self.token = self.bench.token = self.bench.awaits(lambda: self.owner.claims(self.door(), code), 200, "a claim", every=5)
        with open(self.token_file, "w") as file:
            file.write(self.token)
        self.bench.says(f"{self.name} is claimed, with an approver")
        self.bench.says(f"by two orders: {self.fleet.enrolls(self.name, self.owner, self.door())}")

    def enters(self, pi):
        """It joins and starts again: the status that it then reports."""
        self.joins(pi)
        self.bench.answers().call("system.reboot", delay_seconds=0)
        pi.qmp.event("RESET", within=200)
        return self.reports()

    def door(self):
        return self.bench.machine.qmp.forwarded_port(SERVER), self.fingerprint

    def reports(self, boot=None, within=400):
        """Waits until the console has its status, of another start than `boot`."""
        row = self.bench.awaits(
            lambda: (row := self.fleet.row(self.name))["boot"] != boot and row, within, f"status of {self.name} at the broker")
        self.bench.says(f"the status that {self.name} signed: {row['version']}, {row['health']}, sequence {row['sequence']}")
        self.bench.check("the device of that status", row["device"], self.owner.device)
        return row
