"""Makes what the guest that counts instructions is given beside its root: a card with two slots, and a bundle that is installed on it.
card.py FOLDER RASPI_MCP: our program, in a build for this computer."""

import os
import shutil
import sys

CI = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(CI, "qemu.d"), os.path.join(CI, "bench.d")]
from disk import MIB, SECTOR, Area, Fat, run  # noqa: E402
from images import blocks_of, write_image  # noqa: E402

PRODUCT, HARDWARE = "raspi-mcp-icount", "linux,dummy-virt"
# Together INSTALL_MIB of driver/story.c.
BOOT, ROOT = 4 * MIB, 8 * MIB
DATA = 24 * MIB
# When the images and the bundle were made; the guest's clock begins later (guest.py).
CREATED, EXPIRES = "1795000000", "2036-01-01T00:00:00Z"
# The identity and the seed of the hashes of a file system, which are random otherwise.
IDENTITY = "72617370-692d-6d63-702d-62656e636800"


def image(path, size, seed):
    """A root's image, or a boot partition's: of that one, only the file system's size and its file matter."""
    write_image(path, blocks_of(seed, size))
    return path


class Card:
    """A disk with the partitions of dist/layout.toml, as small as the images allow. It has disk.py's interface of a disk."""

    def __init__(self, path):
        self.path, rows, at = path, ["label: dos", "label-id: 0x72706d63"], 8 * MIB // SECTOR
        spans = {}
        for number, size, kind in ((1, MIB, "0c"), (2, BOOT, "0c"), (3, BOOT, "0c"), (4, None, "0f"),
                                   (5, ROOT, "83"), (6, ROOT, "83"), (7, 16 * MIB, "da"), (8, DATA, "83")):
            if number > 4:
                at += MIB // SECTOR
            length = f"size={size // SECTOR}, " if size else ""
            rows.append(f"{number} : start={at}, {length}type={kind}")
            if size:
                spans[number] = (at * SECTOR, size)
                at += size // SECTOR
        with open(path, "wb") as file:
            file.truncate(at * SECTOR + MIB)
        run("sfdisk", "--quiet", path, input="\n".join(rows).encode() + b"\n")
        for number in (1, 2, 3):
            Fat(self, *spans[number]).format("CARD")
        # What runs differs from the release in every block: all of it has to be written.
        Area(self, *spans[5]).write(b"".join(blocks_of(1, ROOT)))
        offset, size = spans[8]
        run("mkfs.ext4", "-q", "-F", "-U", IDENTITY, "-E", f"offset={offset},hash_seed={IDENTITY}", path, f"{size // 1024}k",
            env=os.environ | {"E2FSPROGS_FAKE_TIME": CREATED})


def bundle(folder, program):
    """The release, signed, and the root of trust that the guest knows."""
    at = lambda name: os.path.join(folder, name)
    ours = lambda *words: run(program, "bundle", *words)
    for key in ("root", "release", "channel"):
        ours("keygen", at(key))
    keys = [word for key in ("root", "release", "channel") for word in (f"--{key}-key", at(f"{key}.pub"))]
    ours("trust", "init", "--product", PRODUCT, *keys, "--created", CREATED, "--expires", EXPIRES, "--out", at("trust.json"))
    ours("trust", "sign", at("trust.json"), "--key", at("root.key"))
    boot = at("boot.fat")
    with open(boot, "wb") as file:
        file.truncate(BOOT)
    fat = Fat(type("File", (), {"path": boot}), 0, BOOT)
    fat.format("BOOT")
    fat.put("Image", image(at("Image"), BOOT * 3 // 4, 3))
    ours("build", "--root", image(at("root.img"), ROOT, 2), "--boot", boot, "--product", PRODUCT, "--version", "2.0.0", "--counter", "2",
         "--hardware", HARDWARE, "--created", CREATED, "--expires", EXPIRES, "--level", "3", "--out", at("update.bundle"))
    ours("sign", at("update.bundle"), "--key", at("release.key"))


def main(folder, program):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    Card(os.path.join(folder, "card.img"))
    bundle(folder, program)


if __name__ == "__main__":
    main(*sys.argv[1:])
