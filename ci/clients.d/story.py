"""The conversation for every Python client. A client is an adapter: an object with the methods below.

`offers` is what the client's API has beside calls: "progress", "cancel", "resource", "subscription", "prompt", "log",
"approval" (its user can be asked) and "unlisted" (tools that are not listed can be called). What it does not have is printed as such; what it has must work. `place` is a program to start, or a URL.
"""

import asyncio
import json
import os
import pathlib
import re
import sys
import time

STORY = json.loads((pathlib.Path(__file__).parent / "story.json").read_text())
STEPS = ("unlisted", "progress", "cancel", "resource", "subscription", "prompt", "log", "approval")
PATIENCE = 20
TOKEN = os.environ.get("CLIENTS_TOKEN")
HEADERS = {"Authorization": f"Bearer {TOKEN}"} if TOKEN else {}


class Refused(Exception):
    """A refused call: the text that the client gives its caller or its model."""


def arguments():
    """The command line: era (legacy, or auto where the client has a choice), stdio and a program, or http and a URL."""
    era, transport, place = sys.argv[1:]
    return era, transport, place


def check(holds, otherwise):
    if not holds:
        raise AssertionError(str(otherwise)[:600])


class Story:
    def __init__(self, client):
        self.client, self.failed = client, 0

    async def shown(self, name, step):
        try:
            said = await asyncio.wait_for(step, PATIENCE)
            print(f"ok      {name}" + (f": {said}" if said else ""))
        except Exception as error:  # whatever it is, it is told and counted
            self.failed += 1
            print(f"FAILED  {name}: {type(error).__name__}: {error}")

    async def tell(self):
        client = self.client
        await self.shown("initialize", self.greeting())
        await self.shown("list: every name fits a model's API", self.listing())
        for name, args in STORY["calls"]:
            await self.shown(f"call {name}", self.call(name, args))
        for refusal in STORY["refusals"]:
            if refusal.pop("listed") or "unlisted" in client.offers:
                await self.shown(f"refusal of {refusal['tool']}", self.refusal(**refusal))
            else:
                print(f"absent  refusal of {refusal['tool']}: this client calls listed tools only")
        for step in STEPS:
            if step in client.offers:
                await self.shown(step, getattr(self, step)())
            else:
                print(f"absent  {step}: not offered by this client")
        return self.failed == 0

    async def greeting(self):
        name, version = self.client.server()
        check(name == "raspi-mcp", name)
        return version

    async def listing(self):
        names = await self.client.tools()
        bad = [name for name in names if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)]
        check(len(names) > 20 and not bad, f"{len(names)} tools, refused: {bad}")
        return f"{len(names)} tools"

    async def call(self, name, args):
        check(isinstance(await self.client.call(name, args), dict), "no structured content")

    async def refusal(self, tool, arguments, code, hinted):
        try:
            await self.client.call(tool, arguments)
        except Refused as refused:
            text = str(refused)
        else:
            raise AssertionError("it was not refused")
        if tool == "gpio_write_pin":
            print("shown   " + json.dumps(text))
        error = json.loads(text[text.index("{"):])
        check(error["error_code"] == code, text)
        check(len(error["message"]) > 8 and (not hinted or len(error["hint"]) > 8), text)
        return error["message"]

    async def unlisted(self):
        try:
            await self.client.call("gpio_wrote_pin", {})
        except Exception as error:  # each client has its own kind
            check("gpio.write_pin" in str(error), error)
            return str(error)
        raise AssertionError("it was taken")

    async def progress(self):
        steps = await self.client.progress("network_ping", {"address": "127.0.0.1", "count": 4, "interval_ms": 300})
        check(len(steps) >= 2 and steps[-1] > steps[0], f"reports of progress: {steps}")
        return f"{len(steps)} reports"

    async def cancel(self):
        wait = asyncio.create_task(self.client.call("gpio_wait_for_edge", {"pin": 27, "timeout_ms": 60000}))
        await asyncio.sleep(0)  # lets the request be written
        # It is in progress once the next call, sent after it, is answered.
        await self.client.call("system_get_basic_info", {})
        wait.cancel()
        await asyncio.gather(wait, return_exceptions=True)
        until = time.monotonic() + 10
        while True:
            audit = await self.client.call("logs_get_recent_audit_logs", {"tool": "gpio.wait_for_edge"})
            if audit["entries"] and audit["entries"][0]["outcome"] == "cancelled":
                return
            check(time.monotonic() < until, audit["entries"][:1])

    async def resource(self):
        text = await self.client.read("raspi://health")
        check(len(json.loads(text)["load_average"]) == 3, text)

    async def subscription(self):
        heard = asyncio.Event()
        async with self.client.subscribe("raspi://audit", heard.set):
            until = time.monotonic() + 10
            while not heard.is_set():
                check(time.monotonic() < until, "no update within 10 s")
                await self.client.call("system_get_basic_info", {})

    async def prompt(self):
        texts = await self.client.prompt("diagnose")
        check("system_get_basic_info" in texts[0], texts)
        check(len(texts) == 2 and "load_average" in texts[1], texts)

    async def log(self):
        async def refused():
            try:
                await self.client.call("system_reboot", {"reason": "a line of the log"})
            except Refused:
                return
            raise AssertionError("it was not refused")

        # The agent logs the approval request.
        heard = await self.client.log("info", refused)
        check(any(data["message"].startswith("ask opened") for data in heard), heard)
        return f"{len(heard)} messages"

    async def approval(self):
        """The user of a client in the owner's list denies one call and approves another."""
        self.client.answer = ("decline", None)
        try:
            await self.client.call("system_reboot", {"reason": "declined"})
        except Refused as refused:
            error = json.loads(str(refused))
            check(error["error_code"] == "permission_denied", error)
        else:
            raise AssertionError("it was not refused")
        self.client.answer = ("accept", {"allow": True})
        check(await self.client.call("system_reboot", {"reason": "approved", "delay_seconds": 600}), "nothing came back")
        self.client.answer = ("cancel", None)
        return error["message"]


async def until(holds, within=10.0):
    """Waits for an effect of a notification while the event loop runs."""
    end = time.monotonic() + within
    while not holds() and time.monotonic() < end:
        await asyncio.sleep(0.02)
