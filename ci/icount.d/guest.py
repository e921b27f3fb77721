"""Starts the guest that counts instructions, and reads the figures that it prints."""

import os
import re
import subprocess
import time

# One instruction takes a nanosecond of the guest's clock (shift=0), and a wait takes no time (sleep=off). Nothing that happens in the guest
# depends on the computer: it has no device that answers by itself, no random numbers from outside, and a clock that begins at this time.
BEGIN = "2026-11-26T00:00:00"
COMMAND = (
    "qemu-system-aarch64", "-M", "virt,acpi=off,dtb-randomness=off", "-cpu", "cortex-a72", "-smp", "1", "-m", "1024", "-accel", "tcg",
    "-icount", "shift=0,sleep=off", "-rtc", f"base={BEGIN},clock=vm", "-nodefaults", "-display", "none", "-serial", "stdio", "-no-reboot",
)
# Power-on to power-off takes a minute on an idle computer, and four on a busy one.
LIMIT_SECONDS = 1200


class Failed(Exception):
    """The guest did not measure everything."""


def measured(folder, variant=0):
    """Boots the guest in that folder, and returns {figure: its values}. Each `variant` is another word on the kernel's command line, from
    which its random numbers follow: addresses, hash tables and keys differ, as they do between two boots of a real machine."""
    command = [
        *COMMAND, "-kernel", os.path.join(folder, "Image"), "-initrd", os.path.join(folder, "initrd"),
        "-append", f"console=ttyAMA0 quiet panic=-1 cryptomgr.notests icount={variant}",
    ]
    log = os.path.join(folder, f"console-{variant}.log")
    started = time.monotonic()
    with open(log, "wb") as console:
        try:
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT, timeout=LIMIT_SECONDS, check=True)
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as problem:
            raise Failed(f"{problem}; see {os.path.relpath(log)}") from None
    print(f"  one boot: {time.monotonic() - started:.0f} s", flush=True)
    return figures(log)


def figures(log):
    """Those that a console has, {figure: its values}."""
    with open(log, errors="replace") as console:
        lines = console.read().splitlines()
    if "figures end" not in lines:
        why = next((line for line in lines if line.startswith("icount failed")), "the guest ended early")
        raise Failed(f"{why}; see {os.path.relpath(log)}")
    found = (re.match(r"figure (\w+)((?: \d+)+)$", line) for line in lines)
    return {match[1]: [int(value) for value in match[2].split()] for match in found if match}
