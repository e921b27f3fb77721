"""The measurements of ci/bench-update; see there. update.py RASPI_MCP INSTALL LAYOUT [--quick] [FOLDER]"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from images import blocks_of, write_image

MIB = 1 << 20
SPEED = 40_000_000  # bytes a second: a good SD card's
THROTTLE = "/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"
BOOT = 64 * MIB
PRODUCT = "bench"
# The required limits.
MEMORY_KIB = 16 * 1024
WRITE_SHARE = 0.90
FETCH_SHARE = 1.05


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))} failed: {done.stderr.strip()}")
    return done.stdout


class Card:
    """A loop device with the layout's partitions."""

    def __init__(self, folder, root_bytes):
        self.file = os.path.join(folder, "card.img")
        sector = 512
        at = 16384
        rows = ["label: dos", "label-id: 0x72706d63"]

        def row(number, size, kind):
            nonlocal at
            if number >= 5:
                at += 2048
            rows.append(f"{number} : start={at}, " + (f"size={size // sector}, " if size else "") + f"type={kind}")
            at += size // sector

        row(1, 8 * MIB, "0c")
        row(2, BOOT, "0c")
        row(3, BOOT, "0c")
        rows.append(f"4 : start={at}, type=0f")
        for number, size, kind in [(5, root_bytes, "83"), (6, root_bytes, "83"), (7, 16 * MIB, "da"), (8, 8 * MIB, "83")]:
            row(number, size, kind)
        with open(self.file, "wb") as card:
            card.truncate((at + 4096) * sector)
        run("sfdisk", "-q", self.file, input="\n".join(rows) + "\n")
        self.device = run("losetup", "-f", "--show", "--direct-io=on", self.file).strip()
        run("partx", "-a", self.device)
        name = os.path.basename(self.device)
        with open(f"/sys/block/{name}/dev") as number:
            self.number = number.read().strip()

    def part(self, number):
        return f"{self.device}p{number}"

    def throttle(self, speed):
        with open(THROTTLE, "w") as throttle:
            throttle.write(f"{self.number} {speed}")

    def close(self):
        self.throttle(0)
        subprocess.run(["partx", "-d", self.device], check=False)
        subprocess.run(["losetup", "-d", self.device], check=False)


class Agent:
    """A real agent, and its peak memory."""

    def __init__(self, program, config, folder):
        log = open(os.path.join(folder, "agent.log"), "a")
        self.child = subprocess.Popen([program, "--config", config, "agent"], stderr=subprocess.PIPE, stdout=log, text=True)
        for line in self.child.stderr:
            log.write(line)
            if "listening" in line:
                break
        else:
            sys.exit(f"the agent did not start: see {folder}/agent.log")
        threading.Thread(target=lambda: [log.write(line) for line in self.child.stderr], daemon=True).start()

    def kib(self, what):
        with open(f"/proc/{self.child.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith(what + ":"))

    def anonymous_kib(self):
        return self.kib("RssAnon")

    def end(self):
        self.child.terminate()
        self.child.wait(20)


def dd(source, target):
    """Seconds of `dd conv=fsync`, with its source already in the page cache."""
    with open(source, "rb") as file:
        while file.read(8 * MIB):
            pass
    began = time.monotonic()
    run("dd", f"if={source}", f"of={target}", "bs=1M", "conv=fsync")
    return time.monotonic() - began


def main():
    program, installer, layout, *more = sys.argv[1:]
    quick = "--quick" in more
    places = [word for word in more if not word.startswith("--")]
    size = (256 if quick else 2048) * MIB
    folder = tempfile.mkdtemp(prefix="bench-update.", dir=places[0] if places else None)
    card, agent = Card(folder, size), None
    try:
        at = lambda name: os.path.join(folder, name)
        for number in (2, 3):
            run("mkfs.vfat", "-F", "32", "-i", "12345678", card.part(number))
        boot = at("boot.fat")
        with open(boot, "wb") as file:
            file.truncate(BOOT)
        run("mkfs.vfat", "-F", "32", "-i", "87654321", boot)
        print("making images and bundles ...", flush=True)
        write_image(at("root-1.img"), blocks_of(1, size))
        write_image(at("root-2.img"), blocks_of(1, size, 0.05, 2))
        for key in ("root", "release", "channel"):
            run(program, "bundle", "keygen", at(key))
        run(program, "bundle", "trust", "init", "--product", PRODUCT, "--created", "1795000000", "--expires",
            "2036-01-01T00:00:00Z", "--out", at("trust.json"), "--root-key", at("root.pub"), "--release-key",
            at("release.pub"), "--channel-key", at("channel.pub"))
        run(program, "bundle", "trust", "sign", at("trust.json"), "--key", at("root.key"))
        for version in (1, 2):
            run(program, "bundle", "build", "--root", at(f"root-{version}.img"), "--boot", boot, "--product", PRODUCT,
                "--version", f"{version}.0.0", "--counter", version, "--hardware", f"generic-{os.uname().machine}", "--created",
                "1795000000", "--expires", "2036-01-01T00:00:00Z", "--level", "3", "--out", at(f"{version}.bundle"))
            run(program, "bundle", "sign", at(f"{version}.bundle"), "--key", at("release.key"))
        flow = at("flow")
        with open(flow, "w") as script:
            script.write('#!/bin/sh\n[ "$1" != evidence ] || echo \'{"trial":false,"booted":"A","default":"A","root":"A"}\'\n')
        os.chmod(flow, 0o755)
        config = at("config.toml")
        with open(config, "w") as file:
            file.write(f"""board = "linux"
[places]
state_dir = "{at('state')}"
runtime_dir = "{at('run')}"
agent_state_dir = "{at('agent')}"
agent_socket = "{at('run/agent.sock')}"
[tools]
enable = ["manage"]
[policy]
"manage.update_server" = "allow"
[update]
product = "{PRODUCT}"
layout = "{os.path.abspath(layout)}"
trust = "{at('trust.json')}"
flow = "custom"
flow_command = "{flow}"
installs_per_day = 24
""")
        agent = Agent(program, config, folder)
        idle = agent.kib("VmRSS")
        card.throttle(SPEED)
        failures = measure(program, installer, card, agent, folder, size, idle)
    finally:
        if agent:
            agent.end()
        card.close()
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit("missed: " + ", ".join(failures) if failures else 0)


def measure(program, installer, card, agent, folder, size, idle):
    at = lambda name: os.path.join(folder, name)
    install = lambda *words: json.loads(run(installer, at("run/agent.sock"), *words))
    rows, failures = [], []

    def row(what, value, limit="", good=True):
        rows.append((what, value, limit, "" if good else "MISSED"))
        if not good:
            failures.append(what)

    print("installing everything ...", flush=True)
    whole = install(at("1.bundle"))["armed"]
    written = whole["sent_bytes"] + whole["copied_bytes"]
    print("the same bytes with dd ...", flush=True)
    seconds = dd(at("root-1.img"), card.part(6))
    ours, theirs = written / whole["write_ms"] / 1000, size / seconds / 1e6
    peak = agent.kib("VmHWM")
    row("device, throttled to", f"{SPEED / 1e6:.0f} MB/s")
    row("dd bs=1M conv=fsync", f"{theirs:.1f} MB/s")
    row("write phase", f"{ours:.1f} MB/s")
    share = ours / theirs
    row("write phase / dd", f"{share:.0%}", f">= {WRITE_SHARE:.0%}", share >= WRITE_SHARE)
    row("compare, s", f"{whole['compare_ms'] / 1000:.1f}")
    row("write, s", f"{whole['write_ms'] / 1000:.1f}")
    row("read back and hash, s", f"{whole['verify_ms'] / 1000:.1f}")
    row("agent idle, MiB", f"{idle / 1024:.1f}")
    row("agent at most, MiB", f"{peak / 1024:.1f}", f"< {MEMORY_KIB / 1024:.0f}", peak < MEMORY_KIB)
    row("of it not of files, MiB", f"{agent.anonymous_kib() / 1024:.1f}")

    # The running slot has version 1; the other one has version 1 as dd wrote it.
    card.throttle(0)
    run("dd", f"if={at('root-1.img')}", f"of={card.part(5)}", "bs=4M", "conv=fsync")
    delta = install(at("2.bundle"), "--before", at("1.bundle"))
    share = delta["stored_bytes"] / delta["changed_stored_bytes"]
    row("delta of 5 %: fetched, MB", f"{delta['stored_bytes'] / 1e6:.1f}")
    row("changed blocks, compressed, MB", f"{delta['changed_stored_bytes'] / 1e6:.1f}")
    row("fetched / changed", f"{share:.1%}", f"<= {FETCH_SHARE:.0%}", share <= FETCH_SHARE)

    run("dd", "if=/dev/zero", f"of={card.part(6)}", "bs=4M", f"count={size // (4 * MIB)}", "conv=fsync")
    run("dd", "if=/dev/zero", f"of={card.part(5)}", "bs=4M", f"count={size // (4 * MIB)}", "conv=fsync")
    first = install(at("1.bundle"), "--stop-after", str(size // 65536 // 3))
    second = install(at("1.bundle"))
    twice = len(set(first["numbers"]) & set(second["numbers"]))
    row("interrupted after blocks", str(first["blocks"]))
    row("asked for again", str(twice), "0", twice == 0)
    for what, value, limit, missed in rows:
        print(f"{what:34} {value:>12}   {limit:8} {missed}")
    return failures


main()
