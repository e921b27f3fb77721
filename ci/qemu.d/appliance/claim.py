"""An unclaimed card shows a code on its console. Whoever reads it there can claim the card once; nobody can use it before."""

import datetime
import itertools
import os
import subprocess
import urllib.error
import urllib.request

from image import SERVER
from wires import UNVERIFIED, Missed, SecureMcp

SHORT = True


def story(bench):
    card = bench.card()
    # The console of this board is a serial line; a Raspberry Pi has its screen, tty1.
    with bench.power_on(card, arguments=f"systemd.wants=raspi-mcp-claim@{bench.tty}.service") as pi:
        code = pi.console.expect(r"^ *code +(\S+)", within=400).group(1)
        fingerprint = pi.console.expect(r"^ *fingerprint +(\S+)", within=60).group(1)
        port = pi.qmp.forwarded_port(SERVER)
        bench.says("it shows a code and a fingerprint on its console")
        if has_led := bench.flow == "uboot":
            blinks(bench, pi)
        bench.awaits(lambda: status(port, "/healthz") == 200, 200, "an answer to /healthz")
        bench.check("MCP before it is claimed", mcp(port, "nobody's"), "refused")
        token = claim(bench, port, code, fingerprint)
        bench.says("claimed by the code, through the pinned certificate")
        client = bench.awaits(lambda: SecureMcp(port, token, fingerprint), 120, "an answer with the token")
        bench.says(f"{len(client.request('tools/list', {})['tools'])} tools with that token")
        if has_led:
            pi.console.expect("This machine has its owner now", within=60)
            stays(bench, pi, client)
        try:
            claim(bench, port, code, fingerprint)
            raise Missed("it was claimed twice")
        except subprocess.CalledProcessError as refused:
            bench.says(f"a second time: {refused.stderr.strip().splitlines()[0]}")
        pi.cut_power()
    with bench.power_on(card) as pi:
        bench.awaits(lambda: SecureMcp(pi.qmp.forwarded_port(SERVER), token, fingerprint), 400, "an answer after the power was cut")
        bench.says("owner and certificate are the same after the power was cut")
        pi.cut_power()


def claim(bench, port, code, fingerprint):
    """As an owner does, with our own program: the token."""
    command = [os.environ["RASPI_MCP_HOST"], "claim", f"https://127.0.0.1:{port}", "--fingerprint", fingerprint, "--code", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout.strip()


def blinks(bench, pi):
    """The LED, half a second on and half a second off, measured at the board's GPIO chip."""
    levels = []
    bench.awaits(lambda: levels.append(pi.led()) or len(changes(levels)) > 4, 60, "blinking LED", every=0.02)
    bench.says(f"its LED blinks: {' '.join(map(str, changes(levels)))}")


def stays(bench, pi, client):
    """For two seconds of the machine's clock the LED does not change."""
    moment = lambda: datetime.datetime.fromisoformat(client.call("system.get_clock")["time"].replace("Z", "+00:00"))
    levels, until = [], moment() + datetime.timedelta(seconds=2)
    bench.awaits(lambda: levels.append(pi.led()) or moment() >= until, 200, "two seconds by the machine's clock", every=0.1)
    bench.check(f"changes of its LED among {len(levels)} levels, with an owner", len(changes(levels)) - 1, 0)


def changes(levels):
    """Without the repetitions: 1 1 0 0 1 becomes 1 0 1."""
    return [level for level, _ in itertools.groupby(levels)]


def status(port, path):
    try:
        with urllib.request.urlopen(f"https://127.0.0.1:{port}{path}", timeout=20, context=UNVERIFIED) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def mcp(port, token):
    try:
        SecureMcp(port, token)
        return "answered"
    except Missed:
        return "refused"
