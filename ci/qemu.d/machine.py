"""One QEMU, from power-on to power-off. Always emulated (TCG), no network beyond one forwarded loopback port."""

import os
import shlex
import socket
import subprocess
import sys
import time

from disk import run
from wires import Console, Hand, Mcp, Missed, Qmp

HERE = os.path.dirname(os.path.abspath(__file__))
# Power-on to a healthy system. A boot takes 6 to 8 s on an idle machine; a busy one gets ten times that.
BOOT_SECONDS = 80
# The address of the bench's web space in the guest; rootfs/etc/hosts names it.
WEB_ADDRESS = "10.0.2.100"
# Where the guest finds the broker of its fleet.
BROKER_ADDRESS, BROKER_PORT = "10.0.2.101", 4222
BOARD = ("qemu-system-aarch64", "-M", "virt,acpi=off", "-cpu", "cortex-a72", "-smp", "1", "-m", "512")
# The board's GPIO chip, a PL061 (ARM DDI 0190): its registers, and the line with an LED.
GPIO, LED_LINE = 0x0903_0000, 6
# Memory for the kernel's last messages, which a restart keeps (Documentation/admin-guide/ramoops.rst): in the middle of the board's 512 MiB,
# where neither U-Boot nor what it loads lies.
RAMOOPS, RAMOOPS_BYTES = 0x5000_0000, 0x4_0000

# The guest's end of the control channel, on boards with PCI.
VIRTIO_HAND = ("-device", "virtio-serial-pci", "-device", "virtserialport,chardev=hand,name=hand")


class Machine:
    """A running QEMU with its channels attached. A context manager: QEMU is always ended at its exit."""

    def __init__(self, command, log, hand_device=VIRTIO_HAND, more=()):
        """`command` is QEMU's, without the console, the monitor and the guest's hand: those are added here. `log` is where the
        console is kept, or a console that goes on. `more` comes behind the console: further serial ports."""
        qmp, qmp_theirs = socket.socketpair()
        hand, hand_theirs = socket.socketpair()
        command = [
            *command, "-nodefaults", "-display", "none", "-serial", "stdio",
            "-chardev", f"socket,id=qmp,fd={qmp_theirs.fileno()}", "-mon", "chardev=qmp,mode=control",
            "-chardev", f"socket,id=hand,fd={hand_theirs.fileno()}", *hand_device, *more,
        ]
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            pass_fds=(qmp_theirs.fileno(), hand_theirs.fileno()),
        )
        qmp_theirs.close()
        hand_theirs.close()
        goes_on = isinstance(log, Console)
        self.console, self.hand = log if goes_on else Console(log), Hand(hand)
        self.reader = self.console.attach(self.process.stdout, last=not goes_on)
        try:
            self.qmp = Qmp(qmp)
        except Missed as missed:
            self.close()
            raise Missed(f"QEMU did not start: {missed}; {' '.join(self.console.tail())}") from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def off(self):
        return self.process.poll() is not None

    def seconds(self):
        """Seconds since power-on."""
        return time.monotonic() - self.started

    def cpu_seconds(self):
        """CPU seconds of QEMU since power-on: unlike the clock, they do not depend on the load of the computer."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def mcp(self):
        """A new MCP client, through the forwarded port."""
        return Mcp(self.qmp.forwarded_port())

    def healthy(self, slot, within=BOOT_SECONDS):
        """Waits until the guest is up, in that slot, and found healthy."""
        found = self.console.expect(r"bench: slot (\S+) is healthy", within).group(1)
        if found != slot:
            raise Missed(f"slot {found} came up instead of slot {slot}")

    def power_off(self, within=20):
        """Shuts the guest down properly and waits until QEMU has ended."""
        # TSTP: init restarts nothing. -f: without it, init sleeps for three seconds.
        self.hand.send("kill -TSTP 1; /bench/stop; poweroff -f")
        try:
            self.process.wait(within)
        except subprocess.TimeoutExpired:
            raise Missed(f"the machine was still on {within} s after poweroff") from None

    def cut_power(self):
        """Cuts the power: nothing can finish."""
        self.close()

    def led(self):
        """The level of the LED's line, 0 or 1, read at the GPIO chip as a meter would."""
        # Address bits 9 to 2 of the data register select the lines that are read.
        said = self.qmp.ask("human-monitor-command", **{"command-line": f"xp /1xw {GPIO + (4 << LED_LINE):#x}"})
        return int(said.split()[-1], 16) >> LED_LINE & 1


def appliance(disk, log, extra=(), web=None, writes=None):
    """The bench's Raspberry Pi: an arm64 board with U-Boot, a GPIO chip (acpi=off), a disk, a watchdog and a network card."""
    return Machine([*board(disk, web, writes), *u_boot(disk.pieces, os.path.dirname(log)), *extra], log)


def u_boot(pieces, folder):
    """QEMU's options for a board that starts with U-Boot, from the folder `pieces`; its device tree is written to the other folder."""
    return ["-bios", os.path.join(pieces, "u-boot.bin"), "-dtb", device_tree(os.path.join(folder, "virt.dtb"))]


def device_tree(path):
    """Writes the device tree of that board: QEMU's own, with an LED named ACT on its GPIO chip and memory that survives a restart, as a
    Raspberry Pi has them, and without a seed for the kernel's addresses. Returns its path."""
    run(*BOARD, "-M", f"dumpdtb={path}", "-nodefaults", "-display", "none")
    chip = run("fdtget", path, f"/pl061@{GPIO:x}", "phandle").decode().strip()
    memory = f"/reserved-memory/ramoops@{RAMOOPS:x}"
    # With a seed Linux hides its page table from programs on this processor too, although it need not (arch/arm64/kernel/cpufeature.c,
    # kaslr_requires_kpti): each system call changes the ASID twice, and QEMU then forgets all that it has translated of addresses. That was
    # a third of a guest's processor time (decision 549).
    run("fdtput", "-d", path, "/chosen", "kaslr-seed")
    for node in ("/leds/act", memory):
        run("fdtput", "-c", "-p", path, node)
    for node, name, kind, *values in (
        ("/leds", "compatible", "s", "gpio-leds"),
        ("/leds/act", "label", "s", "ACT"),
        ("/leds/act", "gpios", "i", chip, LED_LINE, 0),
        ("/reserved-memory", "#address-cells", "i", 2),
        ("/reserved-memory", "#size-cells", "i", 2),
        ("/reserved-memory", "ranges", "s"),
        (memory, "compatible", "s", "ramoops"),
        (memory, "reg", "i", 0, RAMOOPS, 0, RAMOOPS_BYTES),
        (memory, "record-size", "i", RAMOOPS_BYTES // 4),
    ):
        run("fdtput", "-t", kind, path, node, name, *map(str, values))
    return path


def board(disk, web=None, writes=None, goes_on=False, ports=(9000,), broker=None):
    """That board without software. `web` and `broker`: ports of this computer that the guest sees as HTTPS (WEB_ADDRESS) and as the
    broker of a fleet (BROKER_ADDRESS), all of the network that it can reach. `writes`: a file for every write and flush of the disk (blklogwrites, the format of
    dm-log-writes); `goes_on`: it has those of an earlier start. `ports`: those of the guest that are forwarded."""
    drive = ["-drive", f"if=none,id=disk,format=raw,cache=writeback,file={disk.path}"]
    if writes:
        drive = [
            "-blockdev", f"driver=file,node-name=plain,filename={disk.path}",
            "-blockdev", f"driver=file,node-name=log,filename={writes}",
            "-blockdev", "driver=blklogwrites,node-name=disk,file=plain,log=log," + ("log-append=on" if goes_on else "log-sector-size=512"),
        ]
    return [
        *BOARD, "-accel", "tcg", *drive, "-device", "virtio-blk-pci,drive=disk", "-device", "i6300esb", "-action", "watchdog=reset",
        "-netdev", network(ports, web, broker), "-device", "virtio-net-pci,netdev=net,romfile=",
    ]


def network(ports, web=None, broker=None):
    """QEMU's network of one guest, as the words of `board` say."""
    forwards = "".join(f",hostfwd=tcp:127.0.0.1:0-10.0.2.15:{port}" for port in ports)
    network = f"user,id=net,restrict=on{forwards}"
    for port, seen_at in ((web, f"{WEB_ADDRESS}:443"), (broker, f"{BROKER_ADDRESS}:{BROKER_PORT}")):
        if port:
            relay = shlex.join([sys.executable, "-S", os.path.join(HERE, "relay.py"), str(port)]).replace(",", ",,")
            network += f",guestfwd=tcp:{seen_at}-cmd:{relay}"
    return network


def raspberry_pi_3(disk, pieces, web=None, ports=(9000,), broker=None):
    """QEMU's Raspberry Pi 3 with that SD card and a network by USB; the words are those of `board`. QEMU loads what the board's firmware
    would: U-Boot and the device tree, from the folder `pieces`. The console is the second serial port. The processors share one thread:
    those that wait for the first to start them would take this computer's others."""
    return [
        "qemu-system-aarch64", "-M", "raspi3b", "-accel", "tcg,thread=single", "-kernel", os.path.join(pieces, "u-boot.bin"),
        "-dtb", os.path.join(pieces, "board.dtb"), "-drive", f"if=sd,format=raw,cache=writeback,file={disk.path}",
        "-netdev", network(ports, web, broker), "-device", "usb-net,netdev=net", "-serial", "null",
    ]
