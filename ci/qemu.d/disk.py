"""The disk of the bench as a file: partitions, slots and boot state (docs/boot.md). No root rights, no loop devices."""

import dataclasses
import json
import os
import struct
import subprocess
import types
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
SECTOR = 512
MIB = 1 << 20
# Offset and length of the two raw copies of the boot state: dist/boot/boot.cmd has the same numbers.
STATE_OFFSETS = (1 * MIB, 5 * MIB)
STATE_BYTES = 512
TRIES = 3
# The partition is larger; the space behind its file system is unused.
BOOT_IMAGE_BYTES = 52 * MIB
# What Debian's kernel does at each start that this bench has no use for, a quarter of the kernel's time: noise of the processor's timing as
# random numbers, certificates of signed modules, types for BPF.
NOT_NEEDED = "jent_mod_init,load_system_certificate_list,bpf_dummy_struct_ops_init,bpf_tcp_ca_kfunc_init"
# One second after a panic is enough here; boot.cmd's ten seconds let a person read the screen. The kernel's self-tests of its
# ciphers are not needed either.
KERNEL_ARGUMENTS = f"console=ttyAMA0 quiet panic=1 cryptomgr.notests initcall_blacklist={NOT_NEEDED}"
SLOT_ENV = f"""slot_kernel=Image
slot_initrd=initrd
slot_args={KERNEL_ARGUMENTS}
""".encode()
# The same for a Raspberry Pi's firmware. It does not name the root; the initramfs finds it.
CONFIG_TXT = b"""arm_64bit=1
kernel=Image
initramfs initrd followkernel
"""
CMDLINE_TXT = f"{KERNEL_ARGUMENTS}\n".encode()
AUTOBOOT_TXT = b"""[all]
tryboot_a_b=1
boot_partition=2
[tryboot]
boot_partition=3
"""


def run(*command, **more):
    """Runs a tool that must succeed; its output is shown only if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stdout.decode(errors='replace').strip()}")
    return done.stdout


@dataclasses.dataclass
class BootState:
    """The state shared by U-Boot and the running system: the order of the slots, and the remaining boots of each."""

    seq: int = 1
    order: str = "A B"
    left_A: int = TRIES
    left_B: int = TRIES

    def encode(self):
        text = f"ab_seq={self.seq:x}\0ab_order={self.order}\0ab_left_A={self.left_A:x}\0ab_left_B={self.left_B:x}\0"
        body = text.encode().ljust(STATE_BYTES - 4, b"\0")
        return struct.pack("<I", zlib.crc32(body)) + body

    @classmethod
    def decode(cls, raw):
        """None if the checksum is wrong."""
        (crc,) = struct.unpack_from("<I", raw)
        if crc != zlib.crc32(raw[4:]):
            return None
        text = raw[4:].split(b"\0\0")[0].decode()
        names = dict(line.split("=", 1) for line in text.split("\0"))
        return cls(int(names["ab_seq"], 16), names["ab_order"], int(names["ab_left_A"], 16), int(names["ab_left_B"], 16))


class Area:
    """One partition, or another contiguous area of the disk."""

    def __init__(self, disk, offset, size):
        self.disk, self.offset, self.size = disk, offset, size

    def write(self, data, at=0):
        if at + len(data) > self.size:
            raise ValueError(f"{len(data)} bytes at {at} do not fit into {self.size}")
        with open(self.disk.path, "r+b") as image:
            image.seek(self.offset + at)
            image.write(data)

    def read(self, size=None, at=0):
        with open(self.disk.path, "rb") as image:
            image.seek(self.offset + at)
            return image.read(self.size if size is None else size)

    def garbage(self, size=4 * MIB, at=0):
        """Overwrites its beginning with random bytes."""
        self.write(os.urandom(min(size, self.size - at)), at)


class Fat(Area):
    """A FAT file system, accessed with mtools."""

    def _image(self):
        return f"{self.disk.path}@@{self.offset}"

    def format(self, label):
        # -N: the same serial number each time.
        run("mformat", "-i", self._image(), "-v", label, "-N", "72706d63", "-T", str(self.size // SECTOR), "::")

    def put(self, name, path):
        run("mcopy", "-o", "-i", self._image(), path, f"::{name}")

    def put_bytes(self, name, data):
        run("mcopy", "-o", "-i", self._image(), "-", f"::{name}", input=data)

    def get(self, name):
        return run("mcopy", "-i", self._image(), f"::{name}", "-")

    def remove(self, name):
        run("mdel", "-i", self._image(), f"::{name}")


class Slot:
    """One of the two systems: its boot files and its root."""

    def __init__(self, name, boot, root):
        self.name, self.boot, self.root = name, boot, root

    def arguments(self, more):
        """Adds to the kernel's command line of this slot: `drill=...` makes the guest misbehave (docs/ci.md lists how)."""
        for name, begins in (("slot.env", "slot_args="), ("cmdline.txt", "console=")):
            lines = self.boot.get(name).decode().splitlines()
            lines = [f"{line} {more}" if line.startswith(begins) else line for line in lines]
            self.boot.put_bytes(name, "\n".join(lines).encode() + b"\n")


def boot_image(pieces, path=None):
    """Makes the boot partition of a slot as a file, for every board, from the pieces, at `path` or beside them."""
    path = path or f"{pieces}/boot.fat"
    with open(path, "wb") as image:
        image.truncate(BOOT_IMAGE_BYTES)
    fat = Fat(types.SimpleNamespace(path=path), 0, BOOT_IMAGE_BYTES)
    fat.format("BOOT")
    for name in ("Image", "initrd"):
        fat.put(name, f"{pieces}/{name}")
    for name, data in (("slot.env", SLOT_ENV), ("config.txt", CONFIG_TXT), ("cmdline.txt", CMDLINE_TXT)):
        fat.put_bytes(name, data)
    return path


class Disk:
    """The whole disk, and the folder of the pieces it was made from."""

    def __init__(self, path, pieces):
        self.path, self.pieces = path, pieces
        table = json.loads(run("sfdisk", "--json", path))["partitiontable"]["partitions"]
        spans = [(entry["start"] * SECTOR, entry["size"] * SECTOR) for entry in table]
        boot_a, boot_b = (Fat(self, *spans[number - 1]) for number in (2, 3))
        root_a, root_b = (Area(self, *spans[number - 1]) for number in (5, 6))
        self.config = Fat(self, *spans[0])
        self.slots = {"A": Slot("A", boot_a, root_a), "B": Slot("B", boot_b, root_b)}
        self.agent_state, self.data = Area(self, *spans[6]), Area(self, *spans[7])
        self.copies = [Area(self, offset, STATE_BYTES) for offset in STATE_OFFSETS]

    @classmethod
    def factory(cls, path, pieces):
        """A new disk in factory state: slot B equal to A and bootable, both copies of the state valid."""
        with open(path, "wb") as image:
            image.truncate(377 * MIB)
        with open(os.path.join(HERE, "layout.sfdisk"), "rb") as layout:
            run("sfdisk", "--quiet", path, input=layout.read())
        disk = cls(path, pieces)
        disk.config.format("CONFIG")
        disk.config.put("boot.scr", f"{pieces}/boot.scr")
        disk.config.put_bytes("autoboot.txt", AUTOBOOT_TXT)
        images = [open(image, "rb").read() for image in (boot_image(pieces), f"{pieces}/root.erofs")]
        for slot in disk.slots.values():
            slot.boot.write(images[0])
            slot.root.write(images[1])
        data = disk.data
        run("mkfs.ext4", "-q", "-F", "-L", "data", "-E", f"offset={data.offset}", path, f"{data.size // 1024}k")
        disk.copies[0].write(BootState(seq=1).encode())
        disk.copies[1].write(BootState(seq=2).encode())
        return disk

    def copy(self, path):
        run("cp", "--reflink=auto", "--sparse=always", self.path, path)
        return Disk(path, self.pieces)

    def slot(self, name):
        return self.slots[name]

    def state(self):
        """The current state: the valid copy with the higher seq; None if neither is valid."""
        valid = [state for state in map(BootState.decode, (copy.read() for copy in self.copies)) if state]
        return max(valid, key=lambda state: state.seq, default=None)

    def set_state(self, **changes):
        """Changes the state as the running system does: it writes the older copy, with the next seq."""
        states = [BootState.decode(copy.read()) for copy in self.copies]
        current = self.state() or BootState(seq=0)
        older = min((0, 1), key=lambda copy: states[copy].seq if states[copy] else -1)
        self.copies[older].write(dataclasses.replace(current, seq=current.seq + 1, **changes).encode())
