"""Shared by the update scenarios: a disk with release 1.0.0 in both slots, a web space with a channel, and functions for
updates."""

import json
import os
import shutil
import threading

from machine import BOOT_SECONDS
from releases import CHANNEL
from wires import Missed
from webspace import NAME, WebSpace

# From the call to the restart: the card is read, compared, written and read back, emulated.
INSTALL_SECONDS = 240
# From the kernel's start to a trial's end: its deadline of 30 s, and the way there.
TRIAL_SECONDS = 120


class Fleet:
    """One device and its web space. A context manager."""

    def __init__(self, bench, flow):
        self.bench, self.flow, self.workshop = bench, flow, bench.workshop
        self.space = os.path.join(bench.folder, "web")
        shutil.rmtree(self.space, ignore_errors=True)
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
        """From now on the channel offers this release."""
        release = self.workshop.release(version, drill)
        self.address = self.workshop.publish(release, self.space)
        return release

    def up(self, within=BOOT_SECONDS):
        """Waits until server and agent of a boot are up, in any order, and returns the slot."""
        lines = {r"bench: slot (\S+) serves": "server", r"INFO agent listening on": "agent", r"bench: up in slot": "start"}
        missing, slot = {"server", "agent"}, None
        while missing:
            what, found = self.bench.machine.console.first(lines, within)
            # Earlier messages belong to another boot.
            missing = {"server", "agent"} if what == "start" else missing - {what}
            if what == "server":
                slot = found[1]
        return slot

    def serves(self, slot, within=BOOT_SECONDS):
        """Waits until the server in that slot answers and its agent is up."""
        if (found := self.up(within)) != slot:
            raise Missed(f"slot {found} came up instead of slot {slot}")
        self.bench.says(f"slot {slot} serves")

    def update(self, version, by="tool"):
        """Starts an update and waits until the device restarts for the trial. Uses the tool, as clients do, or the console with the
        bundle's address. Returns how many bytes of bundles were downloaded."""
        pi = self.bench.machine
        before, began = self.web.counted(".bundle"), pi.seconds()
        if by == "tool":
            self.asks(version)
        else:
            said = pi.hand.run(f"raspi-mcp slot install https://{NAME}/{self.address} --reboot --yes", INSTALL_SECONDS)
            self.bench.says(said.strip().splitlines()[-1])
        # Its own message when it gives up.
        restarts = {r"bench: going down: reboot": True, r"update.*failed": False}
        going, line = pi.console.first(restarts, INSTALL_SECONDS)
        if not going:
            raise Missed(f"no update: {line.string}")
        fetched = self.web.counted(".bundle") - before
        self.bench.says(f"{version} is written, {pi.seconds() - began:.1f} s after the call; it fetched {fetched >> 10} KiB and restarts")
        return fetched

    def asks(self, version, stays=True):
        """Calls the tool, which answers when the new version is written or a time limit is reached. `stays` False: like a caller
        that disconnects, which does not end the update."""
        if not stays:
            threading.Thread(target=self.asks_and_forgets, args=(version,), daemon=True).start()
            return
        mcp = self.bench.machine.mcp()
        mcp.patience = INSTALL_SECONDS
        mcp.call("manage.update_server", channel=CHANNEL, target_version=version)

    def asks_and_forgets(self, version):
        try:
            self.asks(version)
        except Missed:
            pass

    def begins_or_goes_on(self, version):
        """Waits until the server answers, in either slot; the update resumes by itself, or begins if it had not begun. False: the
        device gave it up, for the only valid reason here: three armings without a result of any trial."""
        slot, runs, status = self.up(), self.runs(), self.status()
        last = status.get("last_attempt")
        if runs != version and last and last["phase"] == "rolled_back":
            if not last["reason"].endswith("it was armed 3 times"):
                raise Missed(f"the update of {runs} was given up: {last}")
            self.bench.says(f"slot {slot} serves, {runs}, and stays so: {last['reason']}")
            return False
        begun = status.get("job") or last
        if runs != version and not begun:
            self.asks(version, stays=False)
        self.bench.says(f"slot {slot} serves, {runs}; the update {'goes on' if begun else 'begins'}")
        return True

    def committed(self, version, within=TRIAL_SECONDS):
        """Waits until the agent has found that version healthy in slot B, which ends its trial."""
        self.bench.machine.console.expect("bench: slot B is healthy", within)
        attempt = self.status()["last_attempt"]
        self.bench.check("it proved itself", (attempt["version"], attempt["phase"]), (version, "committed"))

    def is_back(self, version, because, last_words=None):
        """Checks that 2.0.0 runs after trials of that version, that the reason contains those words, and that the kernel's last messages
        contain these, or that there are none."""
        attempt = self.status()["last_attempt"]
        why = (attempt["version"], attempt["phase"], because in attempt["reason"])
        if why != (version, "rolled_back", True):
            raise Missed(f"of the trial of {version} it says: {attempt}")
        log = attempt.get("log_tail") or ""
        if (last_words or "") not in log or bool(log) != bool(last_words):
            raise Missed(f"the kernel's last messages of {version} should contain {last_words!r}; they are: {log!r}")
        if log:
            self.bench.says(f"its kernel's last messages, {len(log)} bytes: {last_words}")
        self.bench.check(f"after trials of {version}, {attempt['reason']!r} (reset: {attempt['reset_cause']}), there runs", self.runs(), "2.0.0")

    def runs(self):
        """The version of the running image, as it reports it."""
        return json.loads(self.bench.machine.hand.run("cat /usr/share/raspi-mcp/image.json"))["version"]

    def status(self):
        return self.bench.machine.mcp().call("manage.get_update_status")

    def slot(self, name):
        return next(slot for slot in self.status()["slots"] if slot["slot"] == name)
