"""A card of twice the image's size: data partition and file system grow on the first boot, even after a power failure during growth."""

import json
import os

from disk import MIB, SECTOR, run

MORE = 1024 * MIB


def story(bench):
    card = bench.owned()
    before = table(card)
    os.truncate(card.path, os.path.getsize(card.path) + MORE)
    # The power fails as soon as the table is written: what comes next is done at the next start.
    with bench.power_on(card) as pi:
        bench.awaits(lambda: table(card) != before, 400, "a table that has grown", every=0.01)
        pi.cut_power()
    whole(bench, card, before)
    with bench.power_on(card) as pi:
        client = bench.healthy("A")
        bench.says(said(client))
        bench.check("its file system", said(client).rpartition("; ")[2] in ("its file system has grown with it", "its file system fills it"), True)
        pi.cut_power()
    whole(bench, card, before)
    bench.check("the table ends with the card", end(table(card)[8]), os.path.getsize(card.path) // MIB * MIB)
    with bench.power_on(card) as pi:
        client = bench.healthy("A")
        bench.check("the third start", said(client), f"{said(client).partition(' ')[0]} has all there is, {table(card)[8]['size'] * SECTOR // MIB} MiB; its file system fills it")
        pi.cut_power()


def said(client):
    """The unit's own words, the newest ones."""
    page = client.call("logs.query_journal", unit="raspi-mcp-grow.service", order="newest_first")
    return next(entry["message"] for entry in page["entries"] if " MiB" in entry["message"])


def table(card):
    entries = json.loads(run("sfdisk", "--json", card.path))["partitiontable"]["partitions"]
    return {int(entry["node"].removeprefix(card.path)): entry for entry in entries}


def end(entry):
    return (entry["start"] + entry["size"]) * SECTOR


def whole(bench, card, before):
    """Every partition is where it was, and as large; the last one and what it is in may be larger."""
    after = table(card)
    moved = [number for number in before if after.get(number, {}).get("start") != before[number]["start"]]
    bench.check("partitions that moved", moved, [])
    resized = [number for number in before if after[number]["size"] != before[number]["size"]]
    bench.check("partitions of another size are 4 and 8 at most", set(resized) <= {4, 8}, True)
    bench.check("partition 8 is inside of 4", end(after[8]) <= end(after[4]) <= os.path.getsize(card.path), True)
