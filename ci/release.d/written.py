#!/usr/bin/env python3
"""Checks a block map by the card that bmaptool wrote with it: written.py IMAGE ROOT BMAP WRITTEN

What was written is the image. What the map leaves out is behind the root file system ROOT, in the partition of a slot, and nowhere else.
Independent of bmap.py, which says what is left out: this one reads the partitions alone. (bmaptool empties a file that it writes to, so
old bytes cannot be seen through.)
"""

import filecmp
import json
import pathlib
import re
import subprocess
import sys


def left_out(bmap):
    """(first byte, byte behind the last) of each gap between ranges; and the map's block size."""
    text = pathlib.Path(bmap).read_text()
    block = int(re.search(r"<BlockSize> (\d+) ", text)[1])
    blocks = int(re.search(r"<BlocksCount> (\d+) ", text)[1])
    at = 0
    for first, last in re.findall(r"<Range [^>]*> (\d+)-(\d+) <", text):
        if int(first) > at:
            yield at * block, int(first) * block
        at = int(last) + 1
    if at < blocks:
        yield at * block, blocks * block


def main(image, root, bmap, written):
    if not filecmp.cmp(image, written, shallow=False):
        raise SystemExit("written.py: what bmaptool wrote is not the image")
    table = json.loads(subprocess.run(["sfdisk", "--json", image], check=True, capture_output=True).stdout)["partitiontable"]
    size = pathlib.Path(root).stat().st_size
    # The slots are logical partitions 5 and 6 (dist/layout.toml).
    slots = [p for p in table["partitions"] if p["node"].endswith(("img5", "img6"))]
    spare = [(p["start"] * 512 + size, (p["start"] + p["size"]) * 512) for p in slots]
    gaps = list(left_out(bmap))
    for begin, end in gaps:
        if not any(first <= begin and end <= behind for first, behind in spare):
            raise SystemExit(f"written.py: bytes {begin} to {end} are left out, and are not the rest of a slot")
    if len(gaps) != len(slots):
        raise SystemExit(f"written.py: {len(gaps)} gaps for {len(slots)} slots")
    print(f"ok      written by its block map, which leaves out the rest of {len(slots)} slots, {sum(e - b for b, e in gaps)} bytes, and nothing else")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
