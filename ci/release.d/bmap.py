#!/usr/bin/env python3
"""Prints the block map of a card, for bmaptool: bmap.py CARD ROOT

Version 2.0 of the format (bmap-tools, "bmaptool create"). `bmaptool create` leaves out whatever is a hole in the file, which depends on
how the file was copied, and a card that was in use would keep old bytes there: in a journal, in a table of inodes, in a boot state. This
one leaves out only what nothing reads: the zeros behind the image of the root file system ROOT in each slot's partition. Its hash tree
covers the rest. A card without a slot that begins with ROOT is an error.
"""

import hashlib
import json
import subprocess
import sys

BLOCK = 4096
SECTOR = 512


def partitions(card):
    """(first byte, size) of each partition that has a Linux file system."""
    table = json.loads(subprocess.run(["sfdisk", "--json", card], check=True, capture_output=True).stdout)["partitiontable"]
    return [(p["start"] * SECTOR, p["size"] * SECTOR) for p in table["partitions"] if p["type"] == "83"]


def digest(file, start, size):
    file.seek(start)
    state = hashlib.sha256()
    while size:
        piece = file.read(min(size, 1 << 20))
        if not piece:
            raise SystemExit(f"bmap.py: the card ends at {file.tell()}, within a partition")
        state.update(piece)
        size -= len(piece)
    return state.hexdigest()


def is_zero(file, start, size):
    return digest(file, start, size) == ZEROS.setdefault(size, digest_of_zeros(size))


ZEROS = {}


def digest_of_zeros(size):
    state, piece = hashlib.sha256(), bytes(1 << 20)
    while size:
        state.update(piece[: min(size, len(piece))])
        size -= min(size, len(piece))
    return state.hexdigest()


def unread(file, slots, root):
    """(first block, block behind the last) of what is left out."""
    with open(root, "rb") as image:
        size = image.seek(0, 2)
        wanted = digest(image, 0, size)
    for start, room in slots:
        if room < size or digest(file, start, size) != wanted:
            continue
        behind = start + size
        if not is_zero(file, behind, start + room - behind):
            raise SystemExit(f"bmap.py: the slot at byte {start} has more than the root file system: nothing is left out safely")
        yield -(-behind // BLOCK), (start + room) // BLOCK


def main(card, root):
    with open(card, "rb") as file:
        size = file.seek(0, 2)
        blocks = -(-size // BLOCK)
        ranges, first = [], 0
        for begin, end in sorted(unread(file, partitions(card), root)):
            ranges.append((first, begin))
            first = end
        if not ranges:
            raise SystemExit(f"bmap.py: no partition of {card} begins with {root}: they are of two builds")
        ranges.append((first, blocks))
        rows = []
        for begin, end in ranges:
            if begin == end:
                continue
            chksum = digest(file, begin * BLOCK, min(end * BLOCK, size) - begin * BLOCK)
            rows.append(f'        <Range chksum="{chksum}"> {begin}-{end - 1} </Range>')
    mapped = sum(end - begin for begin, end in ranges)
    text = f"""<?xml version="1.0" ?>
<bmap version="2.0">
    <ImageSize> {size} </ImageSize>
    <BlockSize> {BLOCK} </BlockSize>
    <BlocksCount> {blocks} </BlocksCount>
    <MappedBlocksCount> {mapped} </MappedBlocksCount>
    <ChecksumType> sha256 </ChecksumType>
    <BmapFileChecksum> {"0" * 64} </BmapFileChecksum>
    <BlockMap>
{chr(10).join(rows)}
    </BlockMap>
</bmap>
"""
    # The map's own checksum is of the map with zeros in its place.
    print(text.replace("0" * 64, hashlib.sha256(text.encode()).hexdigest(), 1), end="")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
