"""Measures, and compares with the table or writes it. Started by ci/bench-icount: measure.py FOLDER [--rebase] [--boots N] NAME=VERSION..."""

import argparse
import os
import sys

import guest
import table

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TABLE = os.path.join(ROOT, "docs", "icount.md")
STORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "driver", "story.c")


def counts():
    """The numbers of driver/story.c that the table's text names."""
    with open(STORY) as file:
        defined = {line.split()[1]: line.split()[2] for line in file if line.startswith("#define ") and len(line.split()) == 3}
    number = lambda name: int(defined[name])
    return {"rounds": number("ROUNDS"), "calls": number("CALLS"), "starts": number("STARTS"), "install": number("INSTALL_MIB"),
            "idle": number("IDLE_SECONDS") // 60, "mixed": number("MIXED")}


def boots(folder, count):
    """The figures of each boot: the first is the one of the table."""
    found = [table.typical(guest.measured(folder, variant)) for variant in range(count)]
    if missing := [name for name in table.WORDS if any(name not in figures for figures in found)]:
        raise guest.Failed(f"the guest did not measure {', '.join(missing)}")
    return found


def widest(found, names):
    """The figure that differs most between boots: (share, name)."""
    def width(name):
        values = [figures[name] for figures in found]
        return (max(values) - min(values)) / max(min(values), 1)
    return max((width(name), name) for name in names)


def spread(found):
    """What the table says of several boots."""
    for name in table.WORDS:
        values = [figures[name] for figures in found]
        print(f"  {name:20} {min(values):>13,} to {max(values):>13,}  {(max(values) - min(values)) / max(min(values), 1):6.2%}")
    (first, one), (second, two) = widest(found, table.PROCESSOR), widest(found, table.MEMORY)
    return (f"Two boots of the same files give the same figures. In {len(found)} boots with other random numbers (addresses, hash tables, keys) the largest and\n"
            f"the smallest value of a figure differ by at most {first:.2%} (`{one}`) in processor time and {second:.2%} (`{two}`) in memory.")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("versions", nargs="+")
    parser.add_argument("--rebase", action="store_true")
    parser.add_argument("--boots", type=int, default=1)
    asked = parser.parse_args()
    header = dict(version.split("=", 1) for version in asked.versions)
    count = max(asked.boots, 5) if asked.rebase else asked.boots
    found = boots(asked.folder, count)
    figures = found[0]
    said = spread(found) if count > 1 else ""
    if asked.rebase:
        with open(TABLE, "w") as file:
            file.write(table.render(header, figures, counts(), said))
        print(f"written: {os.path.relpath(TABLE)}")
        return 0
    with open(TABLE) as file:
        committed, before = table.parse(file.read())
    lines, above = table.compared(figures, before)
    print("\n".join(lines))
    if figures["both_pss"] > table.BOTH_PSS:
        print(f"both halves together have {figures['both_pss']:,} KiB of memory (PSS), more than {table.BOTH_PSS:,}")
        return 1
    if other := table.differences(header, committed):
        for name in other:
            print(f"  {name}: {header[name]}; the table is of {committed.get(name)}")
        print("not compared: measure once with the table's commit here, and commit the table of ./ci/bench-icount --rebase")
        return 0
    if gone := sorted(set(before) ^ set(table.WORDS)):
        print(f"docs/icount.md has other figures ({', '.join(gone)}): ./ci/bench-icount --rebase")
        return 1
    if above:
        print(f"above the bounds in this boot: {', '.join(above)}; a second one, since a change would be above in both:")
        lines, again = table.compared(boots(asked.folder, 1)[0], before)
        print("\n".join(lines))
        above = [name for name in above if name in again]
    if above:
        print(f"above the bounds of docs/icount.md: {', '.join(above)}. Find out why; if it is worth it, ./ci/bench-icount --rebase")
        if any(name.endswith("_file") for name in above):
            print("pages of files: executed functions that dist/hot-functions.txt does not have take 64 KiB each; ./ci/hot-functions records them")
        return 1
    print("all are within the bounds of docs/icount.md")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except guest.Failed as failed:
        sys.exit(f"bench-icount: {failed}")
