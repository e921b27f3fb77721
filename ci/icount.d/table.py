"""The table of docs/icount.md: how it is written, read and compared."""

import re
import statistics

# More than this above the table is too much: about twice what boots with other random numbers differ.
BOUND = 0.02
MEMORY_BOUND = 0.04
# Instructions that are nothing, whatever their share: an idle agent executes 54,000 in a minute.
NOTHING = 2000
# KiB of both halves together, shared pages counted once.
BOTH_PSS = 16 * 1024

PROCESSOR = {
    "start_agent": "start of the agent, until the server beside it has answered, and the second after it",
    "start_server": "start of the server, until its first answer over HTTP, and the second after it",
    "start_both": "both halves together",
    "start_stdio": "start of a server over stdio, until its first answer, and the second after it",
    "call_stdio": "`system.get_basic_info` over stdio",
    "call_unix": "the same over the Unix socket",
    "call_http": "the same over HTTP, `/mcp`",
    "call_http_bare": "the same over HTTP, `/api/mcp`, as a bare method",
    "call_websocket": "the same over WebSocket",
    "call_tls": "the same over HTTP with TLS, `/mcp`, the handshake not counted",
    "call_bus": "the same over the system bus",
    "call_agent": "`process.get_process_details` of a process of root, which the agent looks at",
    "call_mixed": "a call of `ci/bench`'s mix: reads, lists, searches, refused arguments, unknown tools",
    "list_processes": "`process.list_processes` among 200 processes, as called without arguments",
    "list_all_processes": "the same, all 200 in one answer",
    "write_pin": "`gpio.write_pin`, on a line of the board's PL061",
    "install_agent": "a MiB of images installed by `slot install`: the agent",
    "install_command": "the same: the command",
    "idle_server": "an idle minute: the server, with its job of every minute",
    "idle_agent": "an idle minute: the agent",
}
MEMORY = {
    "server_rss": "server: resident (RSS)",
    "server_pss": "server: its share (PSS)",
    "server_anonymous": "server: anonymous pages",
    "server_file": "server: pages of files",
    "agent_rss": "agent: resident (RSS)",
    "agent_pss": "agent: its share (PSS)",
    "agent_anonymous": "agent: anonymous pages",
    "agent_file": "agent: pages of files",
    "both_pss": "both halves together (PSS)",
}
WORDS = PROCESSOR | MEMORY
# About every fiftieth write does the work of two, for the audit's database: a median would be with it or without it, by chance.
MEANS = ("write_pin",)
# A different one of these explains a different figure.
VERSIONS = ("kernel", "QEMU", "rustc", "C compiler", "C library")
SIZE = "release, bytes"

TEXT = """# Instructions and memory

What a change costs, without the noise of a shared computer: processor time of the arm64 release in an emulated guest that counts instructions,
and memory of both halves. Times beside other servers are in [benchmarks.md](benchmarks.md).

Written by `./ci/bench-icount --rebase`; do not edit. `./ci/test icount` measures again. While the versions below are those of the computer
that measures, a figure that is more than 2 % above this table in two boots fails (of memory, 4 %). A change that is worth it commits a new table. With other versions the
figures are printed only, and a person commits a new table.

## Measured with

| | |
| --- | --- |
{versions}

## Processor time

Instructions of the server and of the agent, in user space and in the kernel, by their processor clocks (clock_getcpuclockid(3)). A figure of
calls is the median of {rounds} rounds of {calls} calls, one of starts that of {starts} starts (rare work, such as a checkpoint of the database, is not in a
median; of `write_pin`, it is the mean); the install of {install} MiB and {idle} minutes without a call are measured once.
Waits are not in a figure, nor what other processes do: the client, kernel threads, a program that the agent starts.

| figure | what | instructions |
| --- | --- | --- |
{processor}

## Memory

KiB, by `/proc/PID/smaps_rollup`, after {mixed} calls of the mix over HTTP, while nothing else runs this program. A page that both map counts half
for each in PSS. The whole program is in the page cache, so that pages around a used one are mapped too. The bound of both together is {bound} KiB: {verdict}.

| figure | what | KiB |
| --- | --- | --- |
{memory}

## How steady it is

{spread}

An instruction is counted as a nanosecond of the guest's clock (QEMU's `-icount shift=0,sleep=off`), whichever it is: this is no prediction of time on
a board, where caches, memory and the width of the processor count. The guest has one core. Everything is in its memory, so no disk of the
computer takes part: the root and a card with two slots are loop devices.
"""


def typical(measured):
    """One value for each figure, {name: value}, of those of its rounds: the median, or the mean without the first round."""
    def of(name, values):
        return round(statistics.mean(values[1:]) if name in MEANS else statistics.median(values))
    return {name: of(name, values) for name, values in measured.items()}


def rows(words, figures):
    return "\n".join(f"| `{name}` | {what} | {figures[name]:,} |" for name, what in words.items())


def render(header, figures, counts, spread):
    """`counts`: the numbers of driver/story.c that the text names."""
    met = figures["both_pss"] <= BOTH_PSS
    return TEXT.format(
        versions="\n".join(f"| {name} | {header[name]} |" for name in (*VERSIONS, SIZE)), **counts,
        processor=rows(PROCESSOR, figures), memory=rows(MEMORY, figures), bound=f"{BOTH_PSS:,}", verdict="met" if met else "MISSED", spread=spread,
    )


def parse(text):
    """(header, figures) of a table that was written."""
    header = dict(re.findall(r"^\| ([A-Za-z][\w ,]*) \| ([^|]+) \|$", text, re.M))
    figures = {name: int(value.replace(",", "")) for name, value in re.findall(r"^\| `(\w+)` \| .* \| ([\d,]+) \|$", text, re.M)}
    return header, figures


def differences(ours, theirs):
    """The versions in which two headers differ."""
    return [name for name in VERSIONS if ours.get(name) != theirs.get(name)]


def bound(name):
    return MEMORY_BOUND if name in MEMORY else BOUND


def compared(now, before):
    """A line for each figure, and the names of those above their bound."""
    lines, above = [], []
    for name in WORDS:
        old, new = before.get(name), now[name]
        word = "not in the table"
        if old:
            word = f"{(new - old) / old:+8.2%}"
            if new - old > max(bound(name) * old, 0 if name in MEMORY else NOTHING):
                above.append(name)
                word += "  above the bound"
            elif old - new > bound(name) * old:
                word += "  re-base, so that it stays so"
        lines.append(f"  {name:20} {new:>13,} {word}")
    return lines, above
