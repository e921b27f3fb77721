#!/usr/bin/env python3
"""Compares a card made by genimage with dist/layout.toml: card.py IMAGES BOARD

IMAGES has what Buildroot's folder of images has after post-image.sh, with stand-ins for kernel, firmware and root file system; BOARD is
the board's folder.
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
    """U-Boot's state: a checksum of the rest, name=value with a NUL after each, zeros."""
    check("the state's checksum", int.from_bytes(copy[:4], "little"), zlib.crc32(copy[4:]))
    text, _, rest = copy[4:].partition(b"\0\0")
    check("what follows the state", rest.strip(b"\0"), b"")
    return dict(entry.decode().split("=", 1) for entry in text.split(b"\0"))


def contents(image, offset, name):
    command = ["mtype", "-i", f"{image}@@{offset}", f"::{name}"]
    return subprocess.run(command, check=True, capture_output=True).stdout


def environment(board):
    lines = (line for line in (board / "board.env").read_text().splitlines() if not line.startswith("#"))
    return {key: value.strip('"') for key, value in (line.split("=", 1) for line in lines)}


def names(image, offset):
    """Files and folders in the top folder of a FAT."""
    command = ["mdir", "-b", "-i", f"{image}@@{offset}", "::"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {line.removeprefix("::/").rstrip("/") for line in listed.split()}


def verified(root, arguments):
    """The kernel gets the hash of this root, and the root is followed by its hash tree."""
    word = arguments.decode().splitlines()[-1].split("raspi_mcp.verity=")[1].split()[0]
    hash, salt, blocks = word.split(",")
    place = ["--hash", "sha256", "--salt", salt, "--data-blocks", blocks, "--hash-offset", str(int(blocks) * 4096)]
    done = subprocess.run(["veritysetup", "verify", "--no-superblock", *place, root, root, hash], capture_output=True, text=True)
    check(f"veritysetup says {done.stderr}, and", done.returncode, 0)


def main(images, board):
    layout = tomllib.loads((HERE / "dist/layout.toml").read_text())
    env = environment(board)
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
    sizes = {1: "config", 2: "boot", 3: "boot", 5: "root", 6: "root"}
    for number, partition in wanted.items():
        got = found[number]
        check(f"the type of partition {number}", int(got["type"], 16), int(partition["type"], 16))
        size = partition.get("size", int(env[f"{sizes[number]}_size"].removesuffix("M")) << 20 if number in sizes else None)
        if size:
            check(f"the size of partition {number}", got["size"] * SECTOR, size)

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
        root = (images / "root.img").read_bytes()
        for number in (5, 6):
            check(f"partition {number} has the root file system", area(number, len(root))[1] == root, True)
        check("the agent's state is empty", area(7, found[7]["size"] * SECTOR)[1].strip(b"\0"), b"")

    config = found[1]["start"] * SECTOR
    check("what is on partition 1", names(card, config), {name.rsplit("/", 1)[-1] for name in env["config_files"].split()})
    if env["chain"] == "uboot":
        # mkimage: a header of 64 bytes, and two lengths for one script.
        check("boot.scr is boot.cmd", contents(card, config, "boot.scr")[72:], (HERE / "dist/boot/boot.cmd").read_bytes())
    else:
        check("autoboot.txt", contents(card, config, "autoboot.txt"), (board / "autoboot.txt").read_bytes())
    for number in (2, 3):
        offset = found[number]["start"] * SECTOR
        check(f"what is on partition {number}", names(card, offset), {name.rsplit("/", 1)[-1] for name in env["boot_files"].split()})
        check(f"the kernel of partition {number}", contents(card, offset, "Image"), (images / "Image").read_bytes())
        arguments = contents(card, offset, env["arguments"])
        check(f"{env['arguments']} of partition {number}", arguments.startswith((board / env["arguments"]).read_bytes().rstrip(b"\n")), True)
        verified(images / "root.img", arguments)
    print(f"card.img of {board.name}: {len(found)} partitions, {card.stat().st_size >> 20} MiB, {env['chain']}, root verified")
    for failure in failures:
        print(f"{board.name}: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])))
