"""A member of a fleet is backed up, and restored on a new card: the same device for its client and its fleet, of the next generation.

Then the old card is started once more: the fleet's console says that two machines have one identity. A third card is restored by its claim code."""

import json
import os
import subprocess

from broker import Broker
from image import SERVER
from member import Member
from owner import PATIENCE, ours, program, shown
from wires import Missed, SecureMcp

NAME = "kitchen"
TOOL = "system.set_hostname"
WORDS = "five words that nobody guesses"


def story(bench):
    with Broker(bench.folder) as fleet:
        member = Member(bench, fleet, NAME)
        with member.power_on() as pi:
            first = member.enters(pi)
            bench.says(f"an order: {member.owner.orders(member.door(), 'allow', TOOL, '--ask').strip().splitlines()[0]}")
            file = backed_up(bench, member)
            pi.cut_power()
        old = member.card
        restored(bench, fleet, member, file, first)
        member.card = old
        twins(bench, fleet, member)
    claimed(bench, member, file)


def backed_up(bench, member):
    """As the owner does on another computer, with the approver's key: the backup's file."""
    file, words = (os.path.join(bench.folder, name) for name in (f"{NAME}.backup", "words"))
    if os.path.exists(file):
        os.remove(file)
    with open(words, "w") as writes:
        writes.write(WORDS)
    ours("backup", "--identity", "--out", file, "--passphrase-file", words, *member.owner.options(member.door()))
    said = ours("backup", "--check", file, "--passphrase-file", words)
    bench.check("the device in the backup", member.owner.device in said, True)
    bench.says(f"{os.path.getsize(file)} bytes: {said.splitlines()[0]}")
    return file


def restored(bench, fleet, member, file, first):
    """A new card with the backup beside raspi-mcp.toml."""
    member.card = card = bench.card("new")
    with open(file, "rb") as backup:
        card.config.put_bytes("raspi-mcp.backup", backup.read())
    card.config.put_bytes("raspi-mcp.toml", f'[backup]\npassphrase = "{WORDS}"\n'.encode())
    with member.power_on() as pi:
        bench.says(pi.console.expect(r"raspi-mcp\.backup of device .* was restored.*", within=400).group().strip())
        # The same pinned certificate, and the same token.
        client = bench.awaits(lambda: SecureMcp(pi.qmp.forwarded_port(SERVER), member.token, member.fingerprint), 400, "an answer to the old client")
        client.patience = 120
        policy = client.call("manage.get_server_status")["config_summary"]["policy"]
        bench.check("the grant that was in a file", policy.get(TOOL), "ask")
        bench.check("the approver still reads what waits", member.owner.waiting(member.door())[0], [])
        second = member.reports(boot=first["boot"])
        bench.check("generation, before and after", (first["generation"], second["generation"]), (0, 1))
        bench.check("the sequence is higher", second["sequence"] > first["sequence"], True)
        pi.cut_power()
    for name in ("raspi-mcp.toml", "raspi-mcp.backup"):
        if card.config.get(name).strip(b"\0"):
            raise Missed(f"{name} is still on the card")
    bench.says("both files are zeros on the card")


def twins(bench, fleet, member):
    """The old card runs again."""
    with member.power_on() as pi:
        told = bench.awaits(lambda: another(fleet), 400, "word of another machine")
        bench.says(f"the console refuses the old card: {told}")
        pi.cut_power()


def another(fleet):
    """What `fleet status` says of the refused status, if it is about another machine."""
    command = [program(), "fleet", "status", "--dir", fleet.dir, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    refused = json.loads(done.stdout)["refused"] if done.stdout else []
    return next((row["reason"] for row in refused if "another machine runs with its identity" in row["reason"]), None)


def claimed(bench, member, file):
    """A card that shows a code, restored over the network."""
    card = bench.card("claimed")
    with bench.power_on(card) as pi:
        code, fingerprint, device = shown(pi.console)
        door = pi.qmp.forwarded_port(SERVER)
        command = [
            "claim", f"https://127.0.0.1:{door}", "--fingerprint", fingerprint, "--code", code, "--restore", file,
            "--passphrase-file", os.path.join(bench.folder, "words"), "--yes",
        ]
        bench.awaits(lambda: ours(*command) or True, 200, "a restore by the code", every=5)
        bench.check("another device before it", device == member.owner.device, False)
        pi.qmp.event("RESET", within=400)
        client = bench.awaits(lambda: SecureMcp(pi.qmp.forwarded_port(SERVER), member.token, member.fingerprint), 400, "an answer to the old client")
        client.patience = 120
        bench.check("its host name", client.call("system.get_basic_info")["hostname"], NAME)
        pi.cut_power()
