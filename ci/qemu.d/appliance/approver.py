"""An approver who came with the claim answers and orders over the network, through the server and through the approval page.

The first visit starts the page. All of it survives a power cut. The approver is revoked, and the next one enrolled by a code on the console.
The units' exposure is under its bounds."""

import re
import threading

from image import PAGE, SERVER
from owner import Owner, shown
from wires import Missed, SecureMcp

SHORT = True
MINUTES = 4
UNIT = "raspi-mcp-approval.service"
TOOL = "system.set_hostname"
# By systemd-analyze security, as in ci/nspawn.
EXPOSURE = {"raspi-mcp.service": 2.0, "raspi-mcp-agent.service": 4.0, UNIT: 2.0}


def story(bench):
    card, anna = bench.card(), Owner(bench.folder, "anna")
    with bench.power_on(card) as pi:
        code, fingerprint, anna.device = shown(pi.console)
        server = pi.qmp.forwarded_port(SERVER), fingerprint
        token = bench.awaits(lambda: anna.claims(server, code), 200, "a claim", every=5)
        bench.says("claimed, with an approver")
        client = SecureMcp(server[0], token, fingerprint)
        bench.check("the page before the first visit", state(client), "inactive")
        through_server(bench, client, server, anna)
        page = through_page(bench, client, pi, anna)
        halted(bench, client, page, anna)
        laptop = re.search(r"rmcp_\S+", anna.orders(page, "token", "make", "--name", "laptop", "--role", "read_only")).group()
        bench.check("roles of a token that was ordered", role(bench, server, laptop), "reads, and changes nothing")
        exposure(bench, client)
        pi.cut_power()
    with bench.power_on(card) as pi:
        server = pi.qmp.forwarded_port(SERVER), fingerprint
        client = bench.awaits(lambda: SecureMcp(server[0], token, fingerprint), 400, "an answer after the power was cut")
        bench.check("certificate of the page and ID of the device after the power was cut", bench.page(), (page[1], anna.device))
        bench.check("the token after it", role(bench, server, laptop), "reads, and changes nothing")
        answered(bench, client, server, anna, "after-the-cut")
        next_one(bench, pi, client, server, token, anna)
        pi.cut_power()


def state(client):
    """Of the page's unit."""
    client.patience = 120
    return client.call("service.get_status", service_name=UNIT)["status"]


def through_server(bench, client, server, owner):
    said = owner.orders(server, "allow", TOOL, "--ask")
    bench.says(f"an order: {said.strip().splitlines()[0]}")
    mode = lambda: client.call("manage.get_server_status")["config_summary"]["policy"].get(TOOL)
    bench.awaits(lambda: mode() == "ask", 120, "policy that asks")
    answered(bench, client, server, owner, "by-the-server")


def through_page(bench, client, pi, owner):
    """Visits the approval page, and answers there: its port and fingerprint."""
    fingerprint, device = bench.page()
    bench.check("device on the page", device, owner.device)
    bench.check("the page after the first visit", state(client), "active")
    page = pi.qmp.forwarded_port(PAGE), fingerprint
    answered(bench, client, page, owner, "by-the-page")
    return page


def answered(bench, client, door, owner, name):
    """A call waits until the approver says yes."""
    client.patience, results = 300, []
    call = threading.Thread(target=lambda: results.append(client.request("tools/call", {"name": TOOL, "arguments": {"hostname": name}})), daemon=True)
    call.start()
    [ask] = bench.awaits(lambda: owner.waiting(door)[0], 200, "ask that waits")
    bench.check("its work is done while the call waits", hostname(client) == name, False)
    said = owner.approves(door, ask)
    call.join(300)
    if not results or results[0].get("isError"):
        raise Missed(f"the call did not go on: {results}; {said}")
    bench.check("the name once it was approved", hostname(client), name)


def hostname(client):
    return client.call("system.get_basic_info")["hostname"]


def halted(bench, client, door, owner):
    client.call("manage.halt", reason="the bench")
    refused = client.request("tools/call", {"name": TOOL, "arguments": {"hostname": "halted"}})
    bench.check("a change is refused while it is halted", refused.get("isError") and "halted" in str(refused), True)
    bench.says(f"an order: {owner.orders(door, 'halt', '--lift').strip()}")
    bench.check("the halt after it", client.call("manage.get_server_status").get("halted"), None)


def role(bench, server, token):
    """What a token may do; once the server has read it."""
    port, fingerprint = server
    client = bench.awaits(lambda: SecureMcp(port, token, fingerprint), 120, "an answer to the new token")
    client.patience = 120
    hostname(client)
    refused = client.request("tools/call", {"name": TOOL, "arguments": {"hostname": "laptop"}})
    return "reads, and changes nothing" if refused.get("isError") else "changes"


def exposure(bench, client):
    """While the page runs: a unit that is not loaded is not listed."""
    client.patience = 300
    client.call("service.start", service_name="bench-exposure.service")
    lines = client.call("logs.query_journal", unit="bench-exposure.service", order="oldest_first", limit=200)["entries"]
    found = dict(line["message"].split()[:2] for line in lines if line["message"].count(" ") > 1)
    for unit, most in EXPOSURE.items():
        if unit not in found or float(found[unit]) >= most:
            raise Missed(f"exposure of {unit}: {found.get(unit)} must be under {most}")
        bench.says(f"exposure of {unit}: {found[unit]}, under {most}")


def next_one(bench, pi, client, server, token, anna):
    """The last approver leaves. The next one comes by an admin's token and a code on the console."""
    bench.says(f"an order: {anna.orders(server, 'approver', 'revoke', anna.name).strip().splitlines()[0]}")
    ben = Owner(bench.folder, "ben", anna.device)
    said = ben.enrolls(server, token, lambda: pi.console.expect(r"^ *code +(\S+)", within=200).group(1))
    bench.check("it is the device", f"device {ben.device}" in said, True)
    answered(bench, client, server, ben, "by-the-next-one")
    try:
        anna.waiting(server)
        raise AssertionError("who was revoked still sees what waits")
    except Missed as refused:
        bench.says(f"who was revoked: {str(refused).splitlines()[-1].strip()}")
