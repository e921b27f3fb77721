"""Releases of the bench's image: 1.0.0 and later ones, good and bad, as bundles in a channel. The images are made of the
guest's pieces, the bundles by our own program (`raspi-mcp bundle`, `raspi-mcp channel`)."""

import dataclasses
import json
import os
import shutil
import time

from disk import run

HERE = os.path.dirname(os.path.abspath(__file__))
# The board is QEMU's `virt`, by its device tree.
PRODUCT, HARDWARE, CHANNEL = "raspi-mcp-bench", "linux,dummy-virt", "stable"
# Contents that only one release has: 4 MiB that cannot be compressed.
BALLAST_BYTES = 4 << 20
CONFIGURATION = """# The bench: whoever reaches the guest's loopback may do everything, and everything goes faster.
[access]
loopback_role = "admin"
[tools]
enable = ["manage", "system"]
[policy]
"manage.update_server" = "allow"
"manage.rollback" = "allow"
"manage.mark_good" = "allow"
[update]
product = "raspi-mcp-bench"
url = "https://updates.bench"
ca_file = "/etc/raspi-mcp/updates-ca.pem"
spool_reserve_bytes = 1048576
health_deadline_seconds = 30
installs_per_day = 100
"""


@dataclasses.dataclass
class Release:
    """A release: its images, and its bundle once it is built."""

    version: str
    counter: int
    boot: str
    root: str
    bundle: str = ""


class Workshop:
    """Makes releases in a folder and reuses existing ones: the pieces are the same for all scenarios of a run."""

    def __init__(self, folder, pieces, program, ca, product=PRODUCT):
        self.folder, self.pieces, self.program, self.ca, self.product = folder, pieces, program, ca, product
        self.kept = {}
        self.created = int(time.time())
        self.expires = str(self.created + 30 * 86400)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        self.keys = {role: os.path.join(folder, role) for role in ("root", "release", "channel")}
        for key in self.keys.values():
            self.ours("bundle", "keygen", key)
        self.trust = os.path.join(folder, "root.json")
        named = [word for role, key in self.keys.items() for word in (f"--{role}-key", f"{key}.pub")]
        self.ours("bundle", "trust", "init", "--product", product, *named, "--created", str(self.created),
                  "--expires", self.expires, "--out", self.trust)
        self.ours("bundle", "trust", "sign", self.trust, "--key", f"{self.keys['root']}.key")

    def ours(self, *arguments):
        """Runs our own program on this computer."""
        return run(self.program, *arguments).decode()

    def release(self, version, drill=""):
        """`drill` is its fault: `crashing-server`, `no-init` (its kernel panics), `hanging` (in its first script)."""
        key = version, drill
        if key not in self.kept:
            self.kept[key] = self.make(version, drill)
        return self.kept[key]

    def make(self, version, drill):
        counter = int(version.split(".")[0])
        tree = os.path.join(self.folder, f"tree-{version}")
        run("cp", "-R", f"{self.pieces}/tree", tree)
        place = os.path.join(tree, "usr/share/raspi-mcp")
        os.makedirs(os.path.join(place, "trust"), exist_ok=True)
        about = {"product": PRODUCT, "version": version, "counter": counter, "created": self.created}
        put(f"{place}/image.json", json.dumps(about) + "\n")
        put(f"{place}/drill", drill + "\n")
        shutil.copy(self.trust, f"{place}/trust/root.json")
        shutil.copy(os.path.join(HERE, "../../dist/layout.toml"), f"{place}/layout.toml")
        put(f"{place}/ballast", os.urandom(BALLAST_BYTES))
        put(f"{tree}/etc/raspi-mcp/50-bench.toml", CONFIGURATION)
        shutil.copy(self.ca, f"{tree}/etc/raspi-mcp/updates-ca.pem")
        if drill == "no-init":
            os.remove(f"{tree}/bin/init")
        root = os.path.join(self.folder, f"root-{version}.erofs")
        run("mkfs.erofs", "--quiet", "--all-root", "-T0", "-U", "72617370-692d-6d63-702d-62656e636800", root, tree)
        shutil.rmtree(tree)
        # All releases have the same kernel, so they share one boot image.
        return Release(version, counter, f"{self.pieces}/boot.fat", root)

    def bundled(self, release):
        """The release's bundle, signed."""
        if not release.bundle:
            release.bundle = os.path.join(self.folder, f"{PRODUCT}-{release.version}.bundle")
            self.ours("bundle", "build", "--root", release.root, "--boot", release.boot, "--product", PRODUCT,
                      "--version", release.version, "--counter", str(release.counter), "--hardware", HARDWARE,
                      "--created", str(self.created), "--expires", self.expires, "--level", "3", "--out", release.bundle)
            self.ours("bundle", "sign", release.bundle, "--key", f"{self.keys['release']}.key")
        return release.bundle

    def publish(self, release, space, percent=100):
        """Publishes it in the channel in that folder, as the newest release for this share of all devices."""
        os.makedirs(space, exist_ok=True)
        self.ours("channel", "publish", space, "--channel", CHANNEL, "--key", f"{self.keys['channel']}.key",
                  "--trust", self.trust, "--bundle", self.bundled(release), "--percent", str(percent))
        return f"bundles/{os.path.basename(release.bundle)}"

    def install(self, release, slot):
        """Makes a disk in factory state."""
        for area, image in ((slot.boot, release.boot), (slot.root, release.root)):
            with open(image, "rb") as file:
                area.write(file.read())


def put(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
