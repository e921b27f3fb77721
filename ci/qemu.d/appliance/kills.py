"""QEMU is killed 20 times while a full card updates, at seeded moments: a complete slot always boots, and the update resumes.

The card ends on 2.0.0, or on the previous version after three killed trials, the most that a version gets."""

import contextlib
import os
import random
import threading

from image import UPDATE_SECONDS
from webspace import WebSpace
from wires import Missed

KILLS = int(os.environ.get("RASPI_MCP_KILLS", "20"))
# After so many one device is left to finish: the server gives an update up that it had to take up again five times.
A_DEVICE = 4
# Of this computer, from the first answer after a start: about as long as an update takes that nobody disturbs.
SPAN_SECONDS = 100
PAUSE = threading.Event()


def story(bench):
    seed = int(os.environ.get("RASPI_MCP_SEED", "20261122"))
    bench.says(f"seed {seed}, {KILLS} kills (RASPI_MCP_SEED and RASPI_MCP_KILLS set others)")
    chance, kills, device = random.Random(seed), 0, 0
    space = bench.space()
    bench.offer("2.0.0", 2, space)
    while kills < KILLS:
        device += 1
        card, mine, left = bench.owned(updates=True), 0, False
        with WebSpace(space, bench.workshop.certificate) as web:
            while not left:
                within = chance.uniform(0, SPAN_SECONDS) if kills < KILLS and mine < A_DEVICE else None
                left = starts(bench, card, web, within)
                if not left:
                    kills, mine = kills + 1, mine + 1
                    bench.says(f"device {device}, kill {kills}, {within:.1f} s after it answered")


def starts(bench, card, web, within):
    """Starts the machine; whether the update is over before it is killed."""
    with bench.power_on(card, web=web.port) as pi:
        client = bench.answers()
        if not status(client).get("last_attempt"):
            threading.Thread(target=asks, args=(client,), daemon=True).start()
        try:
            how = bench.awaits(lambda: over(bench), within or UPDATE_SECONDS, "end of the update")
        except Missed:
            if within is None:
                raise
            pi.cut_power()
            return False
        bench.says(f"it ends: {how}")
        pi.cut_power()
        return True


def asks(client):
    """Nobody waits for the answer: the machine may be killed before it. After two starts that were cut off, it is refused until the third
    was found healthy."""
    client.patience = UPDATE_SECONDS
    with contextlib.suppress(OSError, ValueError):
        while True:
            try:
                client.call("manage.update_server", target_version="2.0.0")
                return
            except Missed as missed:
                if "would start another one" not in str(missed):
                    return
            PAUSE.wait(1)


def status(client):
    client.patience = 120
    return client.call("manage.get_update_status")


def over(bench):
    """How it ended, once it has; what else it says of itself is no end that it may have."""
    now = status(bench.answers(within=5))
    last = now.get("last_attempt") or {}
    if now.get("trial_seconds_left") is not None or last.get("phase") not in ("committed", "rolled_back", "failed"):
        return None
    runs = next(row for row in now["slots"] if row["running"])
    if (runs["version"], last["phase"]) == ("2.0.0", "committed"):
        return f"slot {runs['slot']} runs 2.0.0, committed"
    if last["phase"] == "rolled_back" and last["reason"].endswith("it was armed 3 times"):
        return f"slot {runs['slot']} runs {runs['version']}: {last['reason']}"
    raise RuntimeError(f"the update ended as it must not: {last}; {runs}")
