"""Boots two boards with emulated hardware and checks what our program detects. Started by ci/qemu-hw."""

import contextlib
import json
import os
import select
import socket
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "qemu.d"))
from machine import BOOT_SECONDS, Machine  # noqa: E402
from wires import Missed  # noqa: E402


def echo(path):
    """A socket whose other end sends back what it gets. Returns its path."""
    if os.path.exists(path):
        os.remove(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(1)

    def answer():
        # It reads whatever it has to send: QEMU waits in a write of the guest's while its end is full, and reads nothing meanwhile. Each byte
        # is a write of its own, so 300 bytes that nobody takes fill a socket.
        waiting = bytearray()
        # The machine ends with its side of the line open.
        with contextlib.suppress(ConnectionResetError, BrokenPipeError), listener, listener.accept()[0] as line:
            line.setblocking(False)
            while True:
                readable, writable, _ = select.select([line], [line] if waiting else [], [])
                if writable:
                    del waiting[: line.send(waiting)]
                if readable:
                    data = line.recv(4096)
                    if not data:
                        return
                    waiting += data

    threading.Thread(target=answer, daemon=True).start()
    return path


def power_on(board, folder, log):
    """One of the two boards, with its kernel and its root in memory."""
    files = [
        "-kernel", os.path.join(folder, "Image"), "-initrd", os.path.join(folder, f"{board}.initrd"),
        "-dtb", os.path.join(folder, f"{board}.dtb"), "-no-reboot",
    ]
    if board == "virt":
        return Machine([
            "qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a72", "-smp", "1", "-m", "512", "-accel", "tcg", *files,
            "-append", "console=ttyAMA0 quiet panic=-1 board=virt",
            "-netdev", "user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:0-10.0.2.15:9000",
            "-device", "virtio-net-pci,netdev=net,romfile=",
            # The second serial port has an echo at its other end.
            "-chardev", f"socket,id=echo,path={echo(os.path.join(folder, 'echo'))}",
        ], log, more=("-serial", "chardev:echo"))
    # Its console is the second serial port; the first one is the control channel. The processors share one thread: three of them wait in a
    # loop for the first to start them, and with threads of their own they took the computer's cores from it (a boot took 20 s or 160).
    return Machine([
        "qemu-system-aarch64", "-M", "raspi3b", "-accel", "tcg,thread=single", *files, "-serial", "chardev:hand", "-append", "console=ttyS1,115200 quiet panic=-1 board=raspi3b hand=ttyAMA0",
        "-device", "tmp105,id=thermometer,bus=i2c-bus.1,address=0x48", "-device", "tmp105,bus=i2c-bus.1,address=0x49",
    ], log, hand_device=())


class Look:
    """Compares what our program reports about a machine with its hardware."""

    def __init__(self, pi):
        self.pi, self.seen = pi, 0

    def call(self, tool):
        """Runs `raspi-mcp call --json` in the guest."""
        return json.loads(self.pi.hand.run(f"raspi-mcp call --json {tool}", within=60))

    def modules(self):
        return self.call("system.get_capabilities")["modules"]

    def sees(self, what, devices, wanted):
        if not any(wanted in device for device in devices):
            raise Missed(f"{what}: no {wanted!r} among {devices}")
        self.check(what, wanted, wanted)

    def check(self, what, got, wanted):
        if got != wanted:
            raise Missed(f"{what}: expected {wanted!r}, got {got!r}")
        self.seen += 1
        print(f"  {self.pi.seconds():6.1f} s  {what}: {got}", flush=True)

    def holds(self, board, user):
        """Runs the assertions of tests/it/contract/hardware on that board as that user, and shows each line."""
        command = f"hardware --board {board}"
        if user != "root":
            command = f"su -s /bin/sh {user} -c '{command}'"
        # Each line goes to the console at once, so an assertion that hangs is the last line.
        output = self.pi.hand.follow(f"{command}; echo status $?", self.pi.console).splitlines()
        status = output.pop()
        print(f"  {self.pi.seconds():6.1f} s  the contract, by {user}:", flush=True)
        for line in output:
            print(f"    | {line}", flush=True)
        if status != "status 0":
            raise Missed(f"the contract does not hold on {board} by {user}: {status}")
        self.seen += sum(1 for line in output if line.startswith("ok "))

    def reports(self, user, options, proven):
        """Runs `raspi-mcp-selftest` as that user with these options and shows its report: so many contracts are proven, and none fails.
        The options name parts that are quick: holds() has run them all."""
        command = f"hardware --selftest {options}"
        if user != "root":
            command = f"su -s /bin/sh {user} -c '{command}'"
        said = self.pi.hand.follow(f"{command}; echo status $?", self.pi.console).splitlines()
        print(f"  {self.pi.seconds():6.1f} s  the report of raspi-mcp-selftest {options}, by {user}:", flush=True)
        print("".join(f"    | {line}\n" for line in said), end="", flush=True)
        if any(len(line) > 80 for line in said):
            raise Missed("the report has lines of more than 80 columns")
        if said[-1] != "status 0" or not said[-2].startswith(f"total: {proven} proven, 0 FAILED, "):
            raise Missed(f"the report ends with {said[-2]!r} and {said[-1]!r}: {proven} contracts should be proven, and none failed")
        self.seen += proven

    def compares(self, board):
        """Compares our drivers with minimal programs. Only printed: times on a shared machine are not reliable."""
        how = "optimised" if os.environ.get("OPTIMISED") else "not optimised here; ci/bench measures it so that it is"
        print(f"    beside bare ioctls and v4l2-ctl (limit 1.5; our program is {how}):", flush=True)
        said = self.pi.hand.follow(f"hardware --board {board} --ratios", self.pi.console)
        print("".join(f"    | {line}\n" for line in said.splitlines()), end="", flush=True)
        # For docs/benchmarks.md.
        with open(os.path.join(os.path.dirname(self.pi.console.path), f"ratios-{board}.txt"), "w") as ratios:
            ratios.write(said)


# The registers of a BMP280: its identity, then coefficients and measurements of the example in its data sheet
# (Bosch BST-BMP280-DS001, 3.12), which are 25.08 degrees and 100.653 kPa.
BMP280 = {
    0xD0: "58",
    0x88: "70 6b 43 67 18 fc 7d 8e 43 d6 d0 0b 27 0b 8c 00 f9 ff 8c 3c f8 c6 70 17",
    0xF7: "65 5a c0 7e ed 00",
}


def readings(look, *names):
    """What sensors.read says of these sensors: their values, or why there is none."""
    read = look.call("sensors.read -a '" + "names=" + json.dumps(names) + "'")["readings"]
    return [one.get("value", one.get("error")) for one in read]


def removed(pi, look):
    """An SPI device is removed and comes back while the server has it open (its driver is unbound and bound again)."""
    def transfer():
        said = pi.hand.run("raspi-mcp call --json spi.transfer -a bus=0 -a chip_select=0 -a 'data=[1,2,3]' 2>&1 || true", within=60)
        if '"no_device"' in said:
            return "no_device"
        try:
            return json.loads(said)["data"]
        except (ValueError, KeyError):
            raise Missed(f"spi.transfer says: {said}") from None

    driver = "/sys/bus/spi/drivers/spidev"
    device = pi.hand.run(f"basename $(ls -d {driver}/spi*)").strip()
    holders = lambda: pi.hand.run("ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c spidev; true").strip()
    look.check("an SPI device that nobody has used is open in as many programs", holders(), "0")
    look.check("an SPI device returns what it is sent", transfer(), [1, 2, 3])
    look.check("and stays open in one program", holders(), "1")
    pi.hand.run(f"echo {device} >{driver}/unbind")
    look.check("when it was removed", transfer(), "no_device")
    # As dist/udev gives it to the server.
    pi.hand.run(f"echo {device} >{driver}/bind; chgrp spi /dev/spidev0.0 && chmod g=u /dev/spidev0.0")
    look.check("when it is there again", transfer(), [1, 2, 3])


def virt(pi, look):
    """gpio-sim, i2c-stub with an LM75 and a BMP280, vivid, v4l2loopback and pwm-gpio on QEMU's generic board."""
    pi.console.expect(r"listening on http", BOOT_SECONDS)
    capabilities = look.call("system.get_capabilities")
    modules = capabilities["modules"]
    look.check("the board is", capabilities["board"]["kind"], "linux")
    look.sees("the board's own GPIO chip", modules["gpio"]["devices"], "(9030000.pl061)")
    look.sees("gpio-sim", modules["gpio"]["devices"], "(gpio-sim.0)")
    look.sees("i2c-stub", modules["i2c"]["devices"], "(SMBus stub driver)")
    look.sees("vivid", modules["camera"]["devices"], "(vivid-000-vid-cap)")
    look.sees("v4l2loopback", modules["camera"]["devices"], "/dev/video10 (loopback)")
    look.sees("pwm-gpio", modules["pwm"]["devices"], "(channels: 1)")

    # i2c-stub holds registers: 25.5 degrees in an LM75's, high byte first.
    bus = pi.hand.run("dirname $(grep -l 'SMBus stub' /sys/bus/i2c/devices/i2c-*/name)").strip()
    pi.hand.run(f"i2cset -y {bus.rpartition('-')[2]} 0x48 0 0x8019 w && echo lm75 0x48 >{bus}/new_device")
    look.sees("the LM75 behind i2c-stub", look.modules()["temperature"]["devices"], "(lm75)")
    look.check("it measures", look.call("system.get_health_snapshot")["cpu_temperature_celsius"], 25.5)
    registers = [(first + at, byte) for first, row in BMP280.items() for at, byte in enumerate(row.split())]
    number = bus.rpartition("-")[2]
    pi.hand.run("; ".join(f"i2cset -y {number} 0x76 {register:#x} 0x{byte}" for register, byte in registers))
    pi.hand.run(f"echo bmp280 0x76 >{bus}/new_device")
    look.check("sensors.read has an LM75 by hwmon and a BMP280 by IIO",
               readings(look, f"lm75@{number}-0048/temp1", f"bmp280@{number}-0076/temp"), [25.5, 25.08])
    # `doctor` finds the same. It also reports problems, on a guest without systemd, in its exit code.
    found = json.loads(pi.hand.run("raspi-mcp doctor --json || [ $? = 1 ]", within=60))["devices"]
    names = sorted(device["name"] for kind in found.values() for device in kind if "name" in device)
    look.check("raspi-mcp doctor finds", names, [
        "9030000.pl061", "SMBus stub driver", "channels: 1", "gpio-sim.0", "loopback", "spi:dh2228fv", "vivid-000-vid-cap"])
    removed(pi, look)
    look.holds("virt", "raspi-mcp")
    look.reports("raspi-mcp", "--chip header exists seen gpio", 9)
    look.compares("virt")
    # From outside, like a client.
    outside = pi.mcp().call("system.get_capabilities")["modules"]
    look.check("a client outside the guest is told the same", sorted(outside["gpio"]["devices"]), sorted(modules["gpio"]["devices"]))


def raspi3b(pi, look):
    """A Raspberry Pi 3 with its own drivers, and two TMP105 on its I2C bus: one for the kernel, one for tools."""
    pi.console.expect(r"listening on http", 2 * BOOT_SECONDS)
    capabilities = look.call("system.get_capabilities")
    board, modules = capabilities["board"], capabilities["modules"]
    look.check("the board is", (board["kind"], board["model"]), ("raspberry-pi", "Raspberry Pi 3 Model B"))
    look.sees("its GPIO chip", modules["gpio"]["devices"], "(3f200000.gpio)")
    look.sees("its I2C bus", modules["i2c"]["devices"], "/dev/i2c-1 (bcm2835")
    look.sees("its PWM", modules["pwm"]["devices"], "(channels: 2)")

    pi.hand.run("echo tmp105 0x48 >/sys/bus/i2c/devices/i2c-1/new_device")
    look.holds("raspi3b", "raspi-mcp")
    look.reports("raspi-mcp", "--pins 17,22,23,24,26 --i2c 1:0x49 exists seen gpio::what gpio::a_pin i2c", 24)
    look.compares("raspi3b")
    # As under systemd, where the unit denies the server access to the registers: the agent reports the functions of the pins.
    pi.hand.run("chown root:root /dev/gpiomem && chmod 600 /dev/gpiomem")
    pins = {pin["pin"]: (pin["mode"], pin.get("function")) for pin in look.call("gpio.list_pins -a all=true")["pins"]}
    look.check("by the agent's word GPIO 2, 15 and 17 are", (pins[2], pins[15], pins[17]),
               (("alt", "SDA1"), ("alt", "RXD1"), ("input", None)))
    look.sees("the TMP105", look.modules()["temperature"]["devices"], "(tmp105)")
    for celsius in (42.5, -7.0, 85.0):
        pi.qmp.ask("qom-set", path="/machine/peripheral/thermometer", property="temperature", value=int(celsius * 1000))
        look.check("it measures", look.call("system.get_health_snapshot")["cpu_temperature_celsius"], celsius)
    thermometer, bus = "tmp105@1-0048/temp1", "/sys/bus/i2c/devices/i2c-1"
    look.check("sensors.read says the same", readings(look, thermometer), [85.0])
    pi.hand.run(f"echo 0x48 >{bus}/delete_device")
    look.check("a sensor that was taken away is", readings(look, thermometer), ["not_found"])
    pi.hand.run(f"echo tmp105 0x48 >{bus}/new_device")
    look.check("it comes back by the same name", readings(look, thermometer), [85.0])
    # The processor's own sensor takes precedence once it exists.
    pi.hand.run("insmod /modules/*bcm2835_thermal.ko")
    look.sees("the processor's sensor", look.modules()["temperature"]["devices"], "(cpu-thermal)")
    if look.call("system.get_health_snapshot")["cpu_temperature_celsius"] == 85.0:
        raise Missed("the TMP105 is still taken for the processor's sensor")


BOARDS = {"virt": virt, "raspi3b": raspi3b}


def tell(board, build):
    """Boots a board and runs its checks. Returns whether they passed."""
    print(f"\n{board}: {BOARDS[board].__doc__}", flush=True)
    runs, started = os.path.join(build, "runs"), time.monotonic()
    os.makedirs(runs, exist_ok=True)
    with power_on(board, os.path.join(build, "hw"), os.path.join(runs, f"hw-{board}.log")) as pi:
        look = Look(pi)
        try:
            BOARDS[board](pi, look)
            print(f"  ok      {look.seen} things seen, {time.monotonic() - started:.1f} s", flush=True)
            return True
        except Missed as missed:
            print(f"  FAILED  {missed}")
        except Exception:
            print("  FAILED  by a mistake of the bench:")
            traceback.print_exc(file=sys.stdout)
        print(f"  last lines of {os.path.relpath(pi.console.path)}:")
        for line in pi.console.tail():
            print(f"    | {line}")
    sys.stdout.flush()
    return False


def main(build, *boards):
    boards = boards or tuple(BOARDS)
    if unknown := [board for board in boards if board not in BOARDS]:
        print(f"there is no board {', '.join(unknown)}; they are: {', '.join(BOARDS)}", file=sys.stderr)
        return 2
    failed = [board for board in boards if not tell(board, build)]
    print(f"\nqemu-hw: {len(boards) - len(failed)} of {len(boards)} boards passed" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
