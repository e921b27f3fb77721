#!/usr/bin/env python3
"""Makes the next release of a tree of files by one of three kinds of change: change_files.py some|one FROM INTO ...

  some FROM INTO SHARE SEED   that share of the files (0.05) is changed, and their sizes with them: bytes are put in somewhere in the
                              first quarter, up to a tenth of the file and at most 64 KiB, so that all that follows moves
  one FROM INTO PATH          this file is another one: every byte differs, it is as hard to compress, and 10,001 bytes longer

Says how many files and bytes it changed. The same words make the same tree.
"""

import os
import random
import shutil
import sys


def files(top):
    """Regular files, in the order of their names."""
    found = []
    for folder, folders, names in os.walk(top):
        folders.sort()
        paths = (os.path.join(folder, name) for name in sorted(names))
        found += [path for path in paths if os.path.isfile(path) and not os.path.islink(path)]
    return found


def rewrite(path, content):
    """Writes a new file, so that hard links to the old one do not change."""
    mode = os.stat(path).st_mode
    os.remove(path)
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, mode)


def some(top, share, seed):
    dice = random.Random(seed)
    there = files(top)
    changed = 0
    chosen = dice.sample(there, round(len(there) * share))
    for path in chosen:
        with open(path, "rb") as file:
            old = file.read()
        more = dice.randrange(1, 1 + max(64, min(65536, len(old) // 10)))
        at = dice.randrange(0, len(old) // 4 + 1)
        # Half of it is zeros, so that it compresses like code and text.
        rewrite(path, old[:at] + dice.randbytes(more // 2) + bytes(more - more // 2) + old[at:])
        changed += len(old)
    print(f"{len(chosen)} of {len(there)} files, {changed} of {sum(map(os.path.getsize, there))} bytes")


def one(top, path):
    path = os.path.join(top, path)
    with open(path, "rb") as file:
        old = file.read()
    rewrite(path, bytes(byte ^ 0x55 for byte in old) + old[:10001])
    print(f"1 file, {len(old)} bytes")


def main(kind, source, into, *words):
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(source, into, symlinks=True)
    if kind == "some":
        some(into, float(words[0]), int(words[1]))
    else:
        one(into, words[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
