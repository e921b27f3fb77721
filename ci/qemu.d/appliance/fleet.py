"""A claimed card becomes a member of a fleet; it is called through the broker, halted by the fleet's key, and back after a power cut.

The broker is Debian's nats-server on this computer, with TLS and the configuration of `fleet init`. The guest reaches nothing else."""

import base64
import json

from broker import Broker
from member import Member
from wires import SecureMcp

NAME = "kitchen"


def story(bench):
    with Broker(bench.folder) as fleet:
        member = Member(bench, fleet, NAME)
        with member.power_on() as pi:
            member.enters(pi)
            reached(bench, fleet, member)
            halted(bench, fleet, member)
            before = fleet.row(NAME)
            pi.cut_power()
        with member.power_on() as pi:
            after = member.reports(boot=before["boot"])
            bench.check("the sequence is higher after a power cut", after["sequence"] > before["sequence"], True)
            pi.cut_power()


def reached(bench, fleet, member):
    """A call, and a photo by a local port: both through the broker, with the device's own certificate."""
    said = fleet.command("call", NAME, "system.get_clock", "--token-file", member.token_file)
    bench.says(f"system.get_clock by fleet call: {' '.join(said.split())[:80]} ...")
    with fleet.connected(NAME) as port:
        client = SecureMcp(port, member.token, member.fingerprint)
        client.patience = 120
        photo = client.call("camera.take_photo", format="jpeg")
        content = client.request("tools/call", {"name": "camera.get_photo", "arguments": {"name": photo["name"]}})["content"]
        [image] = [base64.b64decode(part["data"]) for part in content if part["type"] == "image"]
        bench.check("bytes of a photo by fleet connect", len(image), photo["size_bytes"])


def halted(bench, fleet, member):
    said = json.loads(fleet.command("halt", NAME, "--reason", "the bench", "--wait", "120", "--json"))
    bench.check("who confirms the fleet's halt", said, {"confirmed": [NAME], "open": [], "clones": {}})
    client = bench.answers()
    refused = client.request("tools/call", {"name": "system.set_hostname", "arguments": {"hostname": "halted"}})
    bench.check("a change is refused while it is halted", refused.get("isError") and "halted" in str(refused), True)
    bench.says(f"an order of its owner: {member.owner.orders(member.door(), 'halt', '--lift').strip()}")
    bench.awaits(lambda: fleet.row(NAME)["halted"] is False, 120, "status that says it is not halted")
    bench.says("its status says that it is not halted")
