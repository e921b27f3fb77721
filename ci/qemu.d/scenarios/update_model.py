"""Compares the model of boot.cmd with the script itself: after every boot of a damaged disk, both have the same slot and the same bytes."""

import os
import random
import struct
import subprocess
import zlib

from disk import STATE_BYTES
from wires import Missed

CASES = 40


def story(bench):
    dice = random.Random(1)
    disk = bench.disk()
    clean = {name: disk.slot(name).boot.read(512) for name in "AB"}
    started = {}
    for number in range(CASES):
        gone = dice.choice(["", "", "A", "B"])
        for name in "AB":
            disk.slot(name).boot.write(bytes(512) if name == gone else clean[name])
        states = [state(dice) for _ in disk.copies]
        for copy, (_, content) in zip(disk.copies, states):
            copy.write(content)
        said = subprocess.run([os.environ["RASPI_MCP_REPLAY"], "--start", "--before", disk.path, "--chain", "uboot"],
                              stdout=subprocess.PIPE, check=True, text=True).stdout.split()
        slot, copies = said[0], [bytes.fromhex(copy) for copy in said[1:]]
        with bench.power_on(disk) as pi:
            # U-Boot's last word; what counts was written before.
            chosen = ""
            while True:
                match = pi.console.expect(r"boot: slot (\S+), \S+ left|Starting kernel", within=30)
                if not match.group(1):
                    break
                chosen = match.group(1)
            pi.cut_power()
        got = (chosen, [copy.read() for copy in disk.copies])
        if got != (slot, copies):
            told = " and ".join(text for text, _ in states)
            raise Missed(f"case {number}, {told}, boot {gone or 'of none'} gone: U-Boot started {got[0]!r} and wrote {got[1]}, the model {slot!r} and {copies}")
        started[slot] = started.get(slot, 0) + 1
    bench.says(f"{CASES} disks: the same slot and the same two copies of the state, byte for byte; slots started: {started}")


def state(dice):
    """A copy of the state, whole or not: (what it says, its bytes)."""
    kind = dice.choice(["whole", "whole", "whole", "odd", "odd", "torn", "zeros", "garbage"])
    if kind == "zeros":
        return kind, bytes(STATE_BYTES)
    if kind == "garbage":
        return kind, dice.randbytes(STATE_BYTES)
    number = lambda *more: dice.choice(["0", "1", "2", "3", *more])
    values = {"ab_left_A": number(), "ab_left_B": number(), "ab_order": dice.choice(["A B", "B A"]), "ab_seq": number("9", "a", "ff", "100")}
    if kind == "odd":
        name = dice.choice(sorted(values))
        values[name] = {
            "ab_left_A": dice.choice(["", "a", "x", "10"]),
            "ab_left_B": dice.choice(["", "ff", "3x"]),
            "ab_order": dice.choice(["A", "B", "B B A", "A A"]),
            "ab_seq": dice.choice(["", "7ffffffffffffffe", "ffffffffffffffff", "0", "1x"]),
        }[name]
        if dice.random() < 0.3:
            del values[name]
    text = "".join(f"{name}={value}\0" for name, value in values.items())
    body = text.encode().ljust(STATE_BYTES - 4, b"\0")
    content = struct.pack("<I", zlib.crc32(body)) + body
    if kind == "torn":
        content = content[:100] + dice.randbytes(STATE_BYTES - 100)
    return f"{kind} {text[:-1]!r}", content
