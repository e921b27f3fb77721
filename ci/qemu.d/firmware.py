"""Does what the firmware of a Raspberry Pi 4 does between power-on and the kernel: reads autoboot.txt, keeps the
one-shot tryboot flag, chooses a partition, reads config.txt there and starts what it names. QEMU has no such firmware; this runs
beside it, with code of its own for everything it reads, and hands the kernel the same device tree nodes.

What it is held to: "autoboot.txt", "tryboot_a_b", "boot_partition" in Raspberry Pi's documentation of config.txt. What it does not do:
EEPROM settings, network boot, and trying further partitions when one does not boot (`walk`, of newer EEPROMs, tries 1 to 4)."""

import os
import re
import subprocess
import threading

from machine import Machine, board, device_tree
from wires import Console, Missed

SECTOR = 512
# The build time of this firmware's EEPROM: 2025-02-12, the default release with tryboot_a_b on all boards.
BUILT = 1739318400
# Printed on the serial line by the guest's reboot with an argument; on a Raspberry Pi the kernel passes it to the firmware.
REQUEST = r"bench: the firmware is told: (.*)"


class Fat:
    """Files in the root folder of a FAT12, FAT16 or FAT32 partition, read as a boot ROM does. It writes nothing."""

    def __init__(self, image, offset):
        self.image, self.offset = image, offset
        boot = self.bytes(0, SECTOR)
        number = lambda at, size: int.from_bytes(boot[at:at + size], "little")
        if boot[510:] != b"\x55\xaa" or number(11, 2) != SECTOR or not number(13, 1):
            raise OSError("no FAT file system")
        self.cluster_bytes = number(13, 1) * SECTOR
        self.fat_at = number(14, 2) * SECTOR
        fat_sectors, self.wide = number(22, 2) or number(36, 4), not number(22, 2)
        root_at = self.fat_at + number(16, 1) * fat_sectors * SECTOR
        root_bytes = number(17, 2) * 32
        self.data_at = root_at + root_bytes
        clusters = ((number(19, 2) or number(32, 4)) * SECTOR - self.data_at) // self.cluster_bytes
        # By the number of clusters, as specified.
        self.bits = 12 if clusters < 4085 else 32 if self.wide else 16
        self.table = self.bytes(self.fat_at, fat_sectors * SECTOR)
        self.root = self.chain(number(44, 4)) if self.wide else self.bytes(root_at, root_bytes)

    def bytes(self, at, size):
        self.image.seek(self.offset + at)
        return self.image.read(size)

    def chain(self, cluster):
        """The bytes of a chain of clusters."""
        end = {12: 0xFF8, 16: 0xFFF8, 32: 0x0FFFFFF8}[self.bits]
        parts, seen = [], 0
        while 2 <= cluster < end:
            parts.append(self.bytes(self.data_at + (cluster - 2) * self.cluster_bytes, self.cluster_bytes))
            at, shift = divmod(cluster * self.bits, 8)
            cluster = int.from_bytes(self.table[at:at + 4], "little") >> shift & (end | 7)
            seen += 1
            if seen > len(self.table) * 8 // self.bits:
                raise OSError("a chain of clusters without an end")
        return b"".join(parts)

    def read(self, wanted):
        """A file by name, in any case; None if it does not exist."""
        long = ""
        for at in range(0, len(self.root), 32):
            entry = self.root[at:at + 32]
            if entry[0] == 0:
                break
            if entry[11] == 0x0F:
                # The parts of a long name come in reverse order.
                piece = (entry[1:11] + entry[14:26] + entry[28:32]).decode("utf-16-le", "replace")
                long = piece.split("\0")[0] + long
                continue
            name, dot = entry[:8].decode("latin-1").rstrip(), entry[8:11].decode("latin-1").rstrip()
            short, was = f"{name}.{dot}" if dot else name, long
            long = ""
            if entry[0] == 0xE5 or entry[11] & 0x18:
                continue
            if wanted.lower() in (short.lower(), was.lower()):
                cluster = int.from_bytes(entry[26:28], "little") | int.from_bytes(entry[20:22], "little") << 16 * self.wide
                return self.chain(cluster if self.wide else cluster & 0xFFFF)[:int.from_bytes(entry[28:32], "little")]
        return None


def sections(text):
    """`[name]` and `name=value` of autoboot.txt and config.txt: {section: {name: value}}; lines before a section apply to all."""
    found, section = {}, "all"
    for line in text.decode("latin-1").splitlines():
        line = line.partition("#")[0].strip()
        if re.fullmatch(r"\[.*\]", line):
            section = line[1:-1].strip().lower()
        elif line:
            name, _, value = line.partition("=") if "=" in line else line.partition(" ")
            found.setdefault(section, {})[name.strip()] = value.strip()
    return found


class PiFirmware:
    """Between two boots it stores one flag: whether the next one is a trial. A power loss clears it."""

    def __init__(self, disk, walk=False):
        self.disk, self.walk, self.flag = disk, walk, False

    def choose(self, tell):
        """(partition, trial, files) of this boot. The flag is cleared before anything is tried."""
        trial, self.flag = self.flag, False
        with open(self.disk.path, "rb") as image:
            named = self.named(image, trial, tell)
            for partition in [named] + [other for other in (1, 2, 3, 4) if self.walk and other != named]:
                try:
                    return partition, trial, self.bootable(image, partition)
                except OSError as error:
                    tell(f"firmware: partition {partition} does not start: {error}")
        return None, trial, None

    def named(self, image, trial, tell):
        """The partition that autoboot.txt names; 1 without one."""
        try:
            text = Fat(image, self.start_of(image, 1)).read("autoboot.txt")
        except OSError as error:
            tell(f"firmware: partition 1: {error}")
            text = None
        if text is None or len(text) > 512:
            tell(f"firmware: {'no' if text is None else 'too long an'} autoboot.txt")
            return 1
        said = sections(text)
        values = dict(said.get("all", {}))
        if trial and values.get("tryboot_a_b") == "1":
            values |= said.get("tryboot", {})
        return int(values.get("boot_partition", "1"))

    @staticmethod
    def start_of(image, partition):
        """The start of a primary partition of the MBR, in bytes."""
        image.seek(0)
        table = image.read(SECTOR)
        entry = table[446 + 16 * (partition - 1):462 + 16 * (partition - 1)]
        if table[510:] != b"\x55\xaa" or entry[4] not in (0x01, 0x04, 0x06, 0x0B, 0x0C, 0x0E):
            raise OSError("no FAT partition")
        return int.from_bytes(entry[8:12], "little") * SECTOR

    def bootable(self, image, partition):
        """Kernel, initramfs and command line by config.txt."""
        fat = Fat(image, self.start_of(image, partition))
        config = fat.read("config.txt")
        if config is None:
            raise OSError("no config.txt")
        said = sections(config).get("all", {})
        names = said.get("kernel", "kernel8.img"), said.get("initramfs", "").partition(" ")[0], said.get("cmdline", "cmdline.txt")
        files = [fat.read(name) if name else b"" for name in names]
        if missing := [name for name, data in zip(names, files) if data is None]:
            raise OSError(f"no {missing[0]}")
        return files


class Pi:
    """A machine with that firmware: one QEMU process per boot, presented as one machine with the interface of `machine.Machine`."""

    def __init__(self, disk, log, folder, walk=False, more=(), **wires):
        """`more` are arguments for each QEMU, `wires` those of machine.board."""
        self.disk, self.folder, self.more, self.wires = disk, folder, more, wires
        self.firmware, self.console = PiFirmware(disk, walk), Console(log)
        self.gone, self.started = threading.Event(), self.console.started
        # (partition, trial) of each start.
        self.starts, self.machine = [], None
        self.start()
        self.keeper = threading.Thread(target=self.keep, daemon=True)
        self.keeper.start()

    hand = property(lambda self: self.machine.hand)
    qmp = property(lambda self: self.machine.qmp)
    process = property(lambda self: self.machine.process)
    off = lambda self: self.gone.is_set()
    # Of the running QEMU.
    cpu_seconds = lambda self: self.machine.cpu_seconds()
    seconds, mcp, healthy, __enter__, __exit__ = (
        getattr(Machine, name) for name in ("seconds", "mcp", "healthy", "__enter__", "__exit__"))

    def start(self):
        """What happens at every reset."""
        partition, trial, files = self.firmware.choose(self.console.add)
        if partition is None:
            self.console.add("firmware: nothing starts")
            self.console.close()
            self.gone.set()
            return
        self.console.add(f"firmware: starts partition {partition}, tryboot {int(trial)}")
        kernel, initrd, arguments = (os.path.join(self.folder, name) for name in ("kernel", "initrd", "cmdline"))
        for path, data in zip((kernel, initrd, arguments), files):
            with open(path, "wb") as file:
                file.write(data)
        tree = self.tree(partition, trial)
        command = [
            *board(self.disk, **self.wires, goes_on=bool(self.starts)), "-no-reboot", "-dtb", tree, "-kernel", kernel,
            *(("-initrd", initrd) if files[1] else ()), "-append", files[2].decode("latin-1").split("\n")[0].strip(), *self.more,
        ]
        self.starts.append((partition, trial))
        self.machine = Machine(command, self.console)
        # The power was cut in the meantime.
        if self.gone.is_set():
            self.machine.close()

    def tree(self, partition, trial):
        """The board's device tree with the firmware's data about this boot (chosen/bootloader, big-endian numbers)."""
        path = device_tree(os.path.join(self.folder, "firmware.dtb"))
        run("fdtput", "-c", path, "/chosen/bootloader")
        # PM_RSTS: power-on, or a full reset by the watchdog, which these boards also use for an orderly restart.
        rsts = 0x1020 if self.starts else 0x1000
        for name, value in (("partition", partition), ("tryboot", int(trial)), ("boot-mode", 1), ("rsts", rsts),
                            ("capabilities", 0x7F), ("build-timestamp", BUILT)):
            run("fdtput", "-t", "x", path, "/chosen/bootloader", name, f"{value:x}")
        return path

    def keep(self):
        """Starts the machine again after each reset, until it is switched off."""
        while not self.gone.is_set():
            machine = self.machine
            machine.process.wait()
            machine.reader.join()
            if self.gone.is_set() or machine.qmp.ended() != "guest-reset":
                break
            told = [found[1] for line in self.since() if (found := re.search(REQUEST, line))]
            if told and told[-1] == "0 tryboot":
                self.firmware.flag = True
            self.start()
        self.gone.set()
        self.console.close()

    def since(self):
        """The console output since the last boot."""
        with self.console.changed:
            lines = list(self.console.lines)
        begin = max(number for number, line in enumerate(lines) if line.startswith("firmware: starts"))
        return lines[begin:]

    def close(self):
        """Cuts the power. A start that had begun is over when it returns: the next machine has the same disk and files."""
        self.gone.set()
        if self.machine:
            self.machine.close()
        self.keeper.join()

    def cut_power(self):
        self.close()

    def power_off(self, within=20):
        self.machine.power_off(within)
        if not self.gone.wait(within):
            raise Missed("the machine was switched off and started again")


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stdout.decode(errors='replace').strip()}")
