"""Reports our drivers compared with minimal programs, as just measured in the guests of ci/qemu-hw: guests.py RUNS OUTPUT"""

import glob
import os
import re
import sys

RUNS, OUTPUT = sys.argv[1:]
LIMIT = 1.5
LINE = re.compile(r"ratio ([\d.]+)\S*.*?  (.+): ([\d.]+) (\w+) by our port, ([\d.]+) \w+ by (.+)")


def main():
    rows, missed = [], False
    for path in sorted(glob.glob(os.path.join(RUNS, "ratios-*.txt"))):
        board = os.path.basename(path)[len("ratios-"):-len(".txt")]
        with open(path) as lines:
            for found in filter(None, map(LINE.match, lines)):
                ratio, what, ours, unit, theirs, whose = found.groups()
                met = float(ratio) <= LIMIT
                missed = missed or not met
                rows.append(f"| {board} | {what}, {unit} | {ours} | {theirs} ({whose}) | {ratio} | {'met' if met else 'MISSED'} |")
    if not rows:
        print(f"no ratios in {RUNS}: ci/qemu-hw did not get that far", file=sys.stderr)
        return 1
    text = "\n".join([
        "## The kernel's drivers, in guests", "",
        "raspi-mcp's drivers compared with a loop of bare system calls (`ci/qemu-hw.d/bare.c`) and with `v4l2-ctl`, interleaved, on the emulated boards of `ci/qemu-hw`; medians. "
        f"The limit is {LIMIT} times the reference. Times in an emulator are meaningful only relative to each other.", "",
        "| board | what | raspi-mcp | reference | ratio | |", "| --- | --- | --- | --- | --- | --- |", *rows, "",
    ])
    with open(OUTPUT, "a") as output:
        output.write("\n" + text)
    print(text)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
