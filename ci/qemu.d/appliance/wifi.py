"""Wi-Fi by emulated radios: joined from raspi-mcp.toml, a scan, a country, wrong and changed passphrases, a network that leads nowhere, one that vanishes.

The client comes by cable. Whether the machine is reached over the air, a neighbour in the network "home" finds out."""

import base64
import json

from wires import Missed

COUNTRY = "DE"
OLD, NEW, NEXT, WRONG = "correct horse", "battery staple", "tomorrow's passphrase", "wrong passphrase"
# The connection of [wifi].
OURS = "raspi-mcp"
# On a busy computer; an idle one takes some five.
JOIN_SECONDS = 400


def story(bench):
    bench.with_radios()
    card = provisioned(bench, OLD)
    with bench.power_on(card) as pi:
        client = arrives(bench)
        joins(bench, client, "home, with the passphrase and country of raspi-mcp.toml")
        scan(bench, client)
        blocked(bench, client)
        wrong_in_use(bench, client)
        nowhere(bench, client)
        vanishes(bench, client)
        changed(bench, client)
        silent(bench, client)
        unconfirmed(bench, client)
        pi.cut_power()
    bench.machine = None
    with bench.power_on(card) as pi:
        client = arrives(bench)
        joins(bench, client, "home, after a power cut, with the passphrase that it was told")
        bench.check("cellar among the connections", "cellar" in names(client), False)
        prepared(bench, client)
        pi.cut_power()
    bench.machine = None
    mended(bench)


def provisioned(bench, passphrase):
    wifi = f'\n[wifi]\nssid = "home"\npassphrase = "{passphrase}"\ncountry = "{COUNTRY}"\n'
    return bench.owned(more=wifi)


def arrives(bench):
    client = bench.answers()
    client.patience = 240
    return client


def active(client):
    """The connection on the radio."""
    listed = client.call("network.list_connections", active_only=True)["connections"]
    return next((one["name"] for one in listed if one["devices"] == ["wlan0"] and one["state"] == "activated"), None)


def over_the_air(client):
    """Whether a neighbour at home gets an answer."""
    return not refusal(client, "service.start", service_name="bench-neighbour.service")


def refusal(client, tool, **arguments):
    """The error of a tool that may fail; None if it did not."""
    answer = client.request("tools/call", {"name": tool, "arguments": arguments})
    return answer["_meta"]["io.raspi-mcp/error"] if answer.get("isError") else None


def fails(bench, client, what, code, tool, **arguments):
    error = refusal(client, tool, **arguments) or {}
    bench.check(what, error.get("error_code"), code)
    return error


def joins(bench, client, what, name=OURS):
    bench.awaits(lambda: active(client) == name and over_the_air(client), JOIN_SECONDS, f"connection to {what}")
    bench.says(f"it is in the network {what}; a neighbour reaches it over the air")


def heard(client):
    found = client.call("network.scan_wifi")
    return found, {point.get("ssid"): point for point in found["access_points"]}


def scan(bench, client):
    client.call("service.start", service_name="bench-cellar.service")
    found, points = bench.awaits(lambda: both(client), JOIN_SECONDS, "scan with both networks")
    seen = {name: (point["channel"], point["security"], point["in_use"]) for name, point in points.items()}
    bench.check("a scan finds", seen, {"home": (6, ["wpa2"], True), "cellar": (1, ["wpa2"], False)})
    bench.check("the radio's country", found.get("country"), COUNTRY)


def blocked(bench, client):
    """The radio is blocked by software, and the block is lifted."""
    client.call("service.start", service_name="bench-rfkill.service")
    error = bench.awaits(lambda: refusal(client, "network.scan_wifi"), JOIN_SECONDS, "refusal of a blocked radio")
    bench.check("blocked by rfkill, it says", (error["error_code"], error["details"].get("rfkill")), ("failed_precondition", "soft"))
    client.call("service.stop", service_name="bench-rfkill.service")
    joins(bench, client, "home, once the block is lifted")


def both(client):
    found, points = heard(client)
    return "home" in points and "cellar" in points and found["fresh"] and (found, points)


def wrong_in_use(bench, client):
    """A wrong passphrase for the network in use: the right one is back, without anybody's help."""
    error = fails(bench, client, "a wrong passphrase for the network in use", "failed_precondition",
                  "network.update_connection", connection=OURS, passphrase=WRONG)
    bench.says(error["message"])
    bench.check("it was taken back", error["details"].get("reverted"), True)
    joins(bench, client, "home, with the passphrase it had before the wrong one")


def nowhere(bench, client):
    """A network that works, but nobody is there to confirm it."""
    done = client.call("network.add_connection", connection="cellar", ssid="cellar", passphrase=OLD, confirm_seconds=10)
    bench.check("cellar is activated, and on the card", (done["activated"], done["saved"]), (True, False))
    bench.check("a neighbour at home reaches it", over_the_air(client), False)
    joins(bench, client, "home, since nobody confirmed cellar within 10 s")
    bench.check("cellar among the connections", "cellar" in names(client), False)


def names(client):
    return [one["name"] for one in client.call("network.list_connections")["connections"]]


def vanishes(bench, client):
    """The access point goes, and comes again."""
    client.call("service.stop", service_name="bench-home.service")
    bench.awaits(lambda: active(client) is None, JOIN_SECONDS, "notice that the access point is gone")
    bench.says("the access point is gone, and the connection with it")
    fails(bench, client, "to activate it meanwhile", "failed_precondition", "network.activate_connection", connection=OURS, device="wlan0")
    client.call("service.start", service_name="bench-home.service")
    joins(bench, client, "home, whose access point is there again")


def changed(bench, client):
    """The access point gets another passphrase; the machine is told it by cable."""
    protect(client, NEW)
    bench.awaits(lambda: active(client) is None, JOIN_SECONDS, "loss of the network with another passphrase")
    bench.says("the access point has another passphrase: the machine is out")
    client.call("network.update_connection", connection=OURS, passphrase=NEW)
    settled(bench, client)


def protect(client, passphrase):
    """The access point of home takes another passphrase."""
    # Not as it is, since records of the audit have what was written.
    client.call("files.write", path="home", content_base64=base64.b64encode(passphrase.encode()).decode(), mode="overwrite")
    client.call("service.restart", service_name="bench-home.service")


def prepared(bench, client):
    """The machine has a second connection for the same network, with the next passphrase, before the access point gets that."""
    client.call("network.add_connection", connection="home-next", ssid="home", passphrase=NEXT, activate=False)
    protect(client, NEXT)
    joins(bench, client, "home, whose next passphrase it had before: nobody told it anything", "home-next")


def settled(bench, client):
    """The connection is activated and confirmed, if NetworkManager has not done so by itself."""
    if active(client) != OURS:
        refusal(client, "network.activate_connection", connection=OURS)
        refusal(client, "network.confirm_connection")
    joins(bench, client, "home, by the passphrase that it was told")


def silent(bench, client):
    """No passphrase has come out anywhere."""
    said = {
        "audit": client.call("logs.get_recent_audit_logs", limit=1000), "journal": client.call("logs.query_journal", limit=1000),
        "connections": client.call("network.list_connections"),
    }
    found = [(where, one) for where, answer in said.items() for one in (OLD, NEW, WRONG) if one in json.dumps(answer)]
    bench.check("passphrases in audit, journal and list of connections", found, [])


def unconfirmed(bench, client):
    """What waits to be confirmed when the power fails."""
    done = client.call("network.add_connection", connection="cellar", ssid="cellar", passphrase=OLD, confirm_seconds=600)
    bench.check("cellar is activated, and on the card, as the power fails", (done["activated"], done["saved"]), (True, False))


def mended(bench):
    """A slip in raspi-mcp.toml is mended by cable."""
    card = provisioned(bench, WRONG)
    with bench.power_on(card) as pi:
        client = arrives(bench)
        bench.check("with a wrong passphrase in raspi-mcp.toml it is in the network", active(client), None)
        client.call("network.update_connection", connection=OURS, passphrase=OLD)
        settled(bench, client)
        pi.cut_power()
    bench.machine = None
    with bench.power_on(card) as pi:
        joins(bench, arrives(bench), "home, after a power cut")
        pi.cut_power()
    if card.config.get("raspi-mcp.toml").strip(b"\0"):
        raise Missed("the file that was taken is still on the card")
