"""A full card image, as an image builder makes it, and functions to use it: `./ci/qemu --image FILE`. The card's software contains nothing
of the bench: it is reached like any device, by its console and by MCP through TLS."""

import contextlib
import functools
import hashlib
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time

from bench import Bench, load, tell, told
from disk import MIB, Disk, run
from firmware import Pi
from machine import Machine, board, raspberry_pi_3, u_boot
from releases import CHANNEL, Release, Workshop
from webspace import NAME, WebSpace, certificates
from wires import Missed, SecureMcp, visited

PRODUCT = "raspi-mcp"
# Of the server, and of the approval page.
SERVER, PAGE = PORTS = 8443, 8444
# Power-on to the first answer, on a shared computer; an idle one takes 25 s.
BOOT_SECONDS = 400
# From the call to the end of a trial: 1,250 s on the emulated Pi 3, whose card is read with 1.4 MB/s.
UPDATE_SECONDS = 3000
# One nanosecond of guest time per instruction, on one core: this clock does not depend on the computer or its load. With another one,
# deadlines and watchdogs in the guest would.
COUNTED = ("-icount", "shift=0")


class Appliance(Bench):
    """The interface that a story of a full card uses."""

    def __init__(self, folder, image):
        super().__init__(folder, None)
        self.image, self.images, self.token = image, os.path.dirname(image), None
        # The boot chain, ci/image's arguments for its board, and the board's console.
        self.flow, self.board, self.tty = "uboot", (), "ttyAMA0"
        if os.path.exists(os.path.join(self.images, "board.dtb")):
            # Only this board gets its device tree from us.
            self.flow, self.board, self.tty = "pi3", ("--board", "ci/image.d/raspi3b"), "ttyS1"

    @functools.cached_property
    def workshop(self):
        """The publisher of releases: keys, and the certificate of the web space."""
        ca, certificate = certificates(os.path.join(self.images, "..", "certificates"))
        workshop = Releases(os.path.join(self.folder, "releases"), None, os.environ["RASPI_MCP_HOST"], ca, PRODUCT)
        workshop.certificate = certificate
        return workshop

    def card(self, name="card"):
        """A card in factory state."""
        path = os.path.join(self.folder, f"{name}.img")
        run("cp", "--reflink=auto", "--sparse=always", self.image, path)
        if self.flow == "pi3":
            # QEMU takes only SD cards of such sizes.
            os.truncate(path, 1 << (os.path.getsize(path) - 1).bit_length())
        return Disk(path, self.images)

    def source(self):
        """Of updates: the lines of a raspi-mcp.toml."""
        with open(self.workshop.trust) as trust:
            return f"\n[update]\nurl = \"https://{NAME}\"\nchannel = \"{CHANNEL}\"\ntrust = '''\n{trust.read()}'''\n"

    def owned(self, updates=False, more=""):
        """A card with a provisioning file raspi-mcp.toml: a name, a token, the source of updates, and more lines."""
        card, folder = self.card(), os.path.join(self.folder, "owner")
        made = run(os.environ["RASPI_MCP_HOST"], "token", "new", "--name", "bench", "--role", "admin").decode()
        self.token = re.search(r"rmcp_\S+", made).group()
        text = 'name = "bench"\n' + made[made.index("[[access.tokens]]"):]
        if updates:
            text += self.source()
        text += more
        shutil.rmtree(folder, ignore_errors=True)
        card.config.put_bytes("raspi-mcp.toml", text.encode())
        return card

    def space(self):
        """An empty folder for a web space."""
        folder = os.path.join(self.folder, "web")
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def build(self, name, *more, **words):
        """Builds another image with ci/image, and returns its folder."""
        folder = os.path.join(os.path.dirname(self.images), name)
        command = ["ci/image", "--into", folder, "--bench", *self.board, *more]
        with open(os.path.join(self.folder, f"build-{name}.log"), "wb") as log:
            done = subprocess.run(command, env=os.environ | {"RASPI_MCP_LEVEL": "3"} | words, stdout=log, stderr=log)
        if done.returncode:
            raise Missed(f"{name} was not built: {log.name}")
        return folder

    def tryboot(self):
        """From now on the machine boots with a Raspberry Pi's firmware; its card is built here."""
        self.flow, self.board = "tryboot", ("--board", "ci/image.d/qemu-aarch64-tryboot")
        self.images = self.build("tryboot")
        self.image = os.path.join(self.images, "card.img")

    def with_radios(self):
        """From now on the machine has a radio, and networks around it; its card is built here."""
        self.images = self.build("air", "--air")
        self.image = os.path.join(self.images, "card.img")

    def offer(self, version, counter, space, *more, percent=100):
        """Builds that release of the image, with these folders copied over its root, and publishes it in `space`, for this share of all
        devices. Returns its bundle's size."""
        built = [word for name in more for word in ("--with", name)]
        folder = self.build(version, *built, RASPI_MCP_RELEASE=version, RASPI_MCP_COUNTER=str(counter))
        # Only the bundle of a release is needed, and a card is large.
        os.remove(os.path.join(folder, "card.img"))
        self.workshop.publish(Release(version, counter, "", "", os.path.join(folder, "update.bundle")), space, percent)
        return os.path.getsize(os.path.join(folder, "update.bundle"))

    def power_on(self, card, web=None, arguments="", counted=COUNTED, more=(), broker=None):
        """`arguments` are added to the kernel's command line of both slots, `more` to QEMU's. `web`, `broker`: as of machine.board."""
        if arguments:
            for slot in card.slots.values():
                lines = slot.boot.get("slot.env").decode().splitlines()
                lines = [f"{line} {arguments}" if line.startswith("slot_args=") else line for line in lines]
                slot.boot.put_bytes("slot.env", "\n".join(lines).encode() + b"\n")
        self.power_ons += 1
        log = os.path.join(self.folder, f"console-{self.power_ons}.log")
        if self.flow == "tryboot":
            self.machine = Pi(card, log, self.folder, more=(*counted, *more), web=web, ports=PORTS)
        elif self.flow == "pi3":
            self.machine = Machine([*raspberry_pi_3(card, self.images, web, PORTS, broker), *more], log, hand_device=())
        else:
            chain = u_boot(self.images, self.folder)
            self.machine = Machine([*board(card, web, ports=PORTS, broker=broker), *chain, *counted, *more], log)
        return self.machine

    def answers(self, within=BOOT_SECONDS):
        """A client, once the machine answers one."""
        return self.awaits(lambda: SecureMcp(self.machine.qmp.forwarded_port(SERVER), self.token), within, "an answer by MCP", every=0.1)

    def first_answer(self, tool, within=BOOT_SECONDS):
        """Starts one client after the other and returns the first that is answered, with the tool's result. A client that connects too early
        waits for a TCP retransmission; the others need not wait for it."""
        answers, port, until = queue.SimpleQueue(), self.machine.qmp.forwarded_port(SERVER), time.monotonic() + within

        def ask():
            with contextlib.suppress(Missed, OSError, ValueError):
                client = SecureMcp(port, self.token)
                answers.put((client, client.call(tool)))

        while time.monotonic() < until:
            threading.Thread(target=ask, daemon=True).start()
            with contextlib.suppress(queue.Empty):
                return answers.get(timeout=0.5)
        raise Missed(f"no answer by MCP within {within} s")

    def page(self):
        """Visits the approval page: the fingerprint of its certificate, and the ID of the device."""
        fingerprint, said = visited(self.machine.qmp.forwarded_port(PAGE), "/approvals/device")
        return fingerprint, json.loads(said)["id"]

    def awaits(self, ready, within, what, every=1.0):
        """Polls `ready` until it returns a true value without raising. The other side cannot notify."""
        until, pause, missed = time.monotonic() + within, threading.Event(), None
        while time.monotonic() < until:
            try:
                if found := ready():
                    return found
            except (Missed, OSError, ValueError) as error:
                missed = error
            if self.machine.off():
                raise Missed(f"the machine ended before there was {what}")
            pause.wait(every)
        raise Missed(f"no {what} within {within} s; last: {missed}")

    def healthy(self, slot, within=BOOT_SECONDS):
        """Waits until that slot answers and was found healthy. Returns a client."""
        def found():
            client = self.answers(within=5)
            client.patience = 60
            status = client.call("manage.get_update_status")
            row = next(row for row in status["slots"] if row["slot"] == slot)
            return row["running"] and status.get("trial_seconds_left") is None and row["state"] == "good" and client
        client = self.awaits(found, within, f"slot {slot}, healthy")
        self.says(f"slot {slot} answers and is healthy ({self.machine.cpu_seconds():.0f} s of CPU since power-on)")
        return client

    def ended(self, version, phase, slot):
        """Waits until the update to that version has ended in this phase, and the machine answers from that slot. Returns a client."""
        def over():
            client = self.answers(within=5)
            client.patience = UPDATE_SECONDS
            status = client.call("manage.get_update_status")
            attempt = status.get("last_attempt") or {}
            runs = next((row["slot"] for row in status["slots"] if row["running"]), None)
            found = attempt.get("version"), attempt.get("phase"), runs
            return found == (version, phase, slot) and status.get("trial_seconds_left") is None and (client, attempt)
        client, attempt = self.awaits(over, UPDATE_SECONDS, f"end of the update to {version}: {phase}, in slot {slot}")
        self.says(f"{version} ended {phase}, slot {slot} runs{': ' * bool(attempt.get('reason'))}{attempt.get('reason') or ''}")
        return client


class Releases(Workshop):
    """Releases built by the image builder, signed and published here."""

    def bundled(self, release):
        signed = os.path.join(self.folder, f"{PRODUCT}-{release.version}.bundle")
        if not os.path.exists(signed):
            shutil.copy(release.bundle, signed)
            self.ours("bundle", "sign", signed, "--key", f"{self.keys['release']}.key")
        release.bundle = signed
        return signed


def slots(card):
    """The hash of each partition that belongs to a slot."""
    areas = {f"{kind} {name}": area for name, slot in card.slots.items() for kind, area in (("boot", slot.boot), ("root", slot.root))}
    return {name: digest(area) for name, area in areas.items()}


def digest(area):
    sums = hashlib.sha256()
    for at in range(0, area.size, 4 * MIB):
        sums.update(area.read(min(4 * MIB, area.size - at), at))
    return sums.hexdigest()


def main(arguments):
    scenarios = load("appliance")
    if arguments == ["--list"]:
        for name, module in scenarios.items():
            print(f"  {name:18} {module.__doc__.strip().splitlines()[0]}")
        return 0
    runs, image, *names = arguments
    sets = {"all": list(scenarios), "short": [name for name, module in scenarios.items() if getattr(module, "SHORT", False)]}
    wanted = [name for asked in names for name in sets.get(asked, [asked])]
    if unknown := [name for name in wanted if name not in scenarios]:
        print(f"there is no scenario {', '.join(unknown)} for images; they are: {', '.join(scenarios)}", file=sys.stderr)
        return 2
    stories = [(name, scenarios[name], os.path.join(runs, name), os.path.realpath(image), Appliance) for name in wanted]
    # The short ones run side by side. Others may build images, which happens in one folder.
    ended = told(stories) if set(wanted) <= set(sets["short"]) else ((story[0], tell(*story)) for story in stories)
    failed = [name for name, well in ended if not well]
    print(f"\nqemu: {len(wanted) - len(failed)} of {len(wanted)} scenarios of the image passed{'; failed: ' * bool(failed)}{', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
