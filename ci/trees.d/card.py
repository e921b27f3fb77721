#!/usr/bin/env python3
"""Compares a card that genimage made with dist/layout.toml: card.py IMAGES BOARD

IMAGES has what Buildroot's folder of images has after post-image.sh, with stand-ins for kernel and root file system.
"""

import json
import pathlib
import subprocess
import sys
import tomllib
import zlib

HERE = pathlib.Path(__file__).resolve().parents[2]
SECTOR = 512
failures = []


def check(what, got, wanted):
    if got != wanted:
        failures.append(f"{what} is {got!r}, not {wanted!r}")


def state(copy):
    """What U-Boot reads: a checksum of the rest, name=value with a NUL after each, zeros."""
    check("the state's checksum", int.from_bytes(copy[:4], "little"), zlib.crc32(copy[4:]))
    text, _, rest = copy[4:].partition(b"\0\0")
    check("what follows the state", rest.strip(b"\0"), b"")
    return dict(entry.decode().split("=", 1) for entry in text.split(b"\0"))


def contents(image, offset, name):
    command = ["mtype", "-i", f"{image}@@{offset}", f"::{name}"]
    return subprocess.run(command, check=True, capture_output=True).stdout


def main(images, board):
    layout = tomllib.loads((HERE / "dist/layout.toml").read_text())
    card = images / "card.img"
    table = json.loads(subprocess.run(["sfdisk", "--json", card], check=True, capture_output=True).stdout)["partitiontable"]
    found = {int(p["node"].removeprefix(str(card))): p for p in table["partitions"]}
    check("the table", table["label"], "dos")
    check("the disk's signature", table["id"], "0x" + layout["disk"])
    wanted = {p["number"]: p for p in layout["partition"]}
    check("the partitions", sorted(found), sorted([*wanted, 4]))
    check("the type of partition 4", found[4]["type"], "f")
    start = min(p["start"] for p in found.values()) * SECTOR
    check("the first partition starts late enough", start >= layout["first_partition"], True)
    check("the partition that U-Boot looks at", [n for n, p in found.items() if p.get("bootable")], [1])
    for number, partition in wanted.items():
        got = found[number]
        check(f"the type of partition {number}", int(got["type"], 16), int(partition["type"], 16))
        if "size" in partition:
            check(f"the size of partition {number}", got["size"] * SECTOR, partition["size"])
    for a, b in ((2, 3), (5, 6)):
        check(f"partition {b} is as large as {a}", found[b]["size"], found[a]["size"])

    def area(number, length):
        return reader.seek(found[number]["start"] * SECTOR), reader.read(length)

    with card.open("rb") as reader:
        for sequence, offset in enumerate(layout["uboot_state"], 1):
            reader.seek(offset)
            check(
                f"U-Boot's state at {offset}",
                state(reader.read(SECTOR)),
                {"ab_seq": str(sequence), "ab_order": "A B", "ab_left_A": "3", "ab_left_B": "3"},
            )
        template = (images.parent / "target" / layout["config_template"][1:]).read_bytes()
        check("partition 1 begins as the root's template", area(1, len(template))[1] == template, True)
        root = (images / "rootfs.erofs").read_bytes()
        for number in (5, 6):
            check(f"partition {number} has the root file system", area(number, len(root))[1] == root, True)
        check("the agent's state is empty", area(7, found[7]["size"] * SECTOR)[1].strip(b"\0"), b"")
    script = contents(card, found[1]["start"] * SECTOR, "boot.scr")
    # mkimage: 64 bytes of its own, two lengths for one script.
    check("boot.scr is boot.cmd", script[72:], (HERE / "dist/boot/boot.cmd").read_bytes())
    for number in (2, 3):
        offset = found[number]["start"] * SECTOR
        environment = contents(card, offset, "slot.env")
        check(f"slot.env of partition {number}", environment, (board / "slot.env").read_bytes())
        kernel = dict(line.split("=", 1) for line in environment.decode().splitlines())["slot_kernel"]
        check(f"the kernel of partition {number}", contents(card, offset, kernel), (images / "Image").read_bytes())
    print(f"card.img of {board.name}: {len(found)} partitions, {card.stat().st_size >> 20} MiB")
    for failure in failures:
        print(f"{board.name}: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])))
