#!/usr/bin/python3
"""An agent of kind "dbus": org.dbusmcp.Agent on the system bus, with Debian's python3-dbus-next."""
import asyncio
import json
import time

from dbus_next import BusType
from dbus_next.aio import MessageBus
from dbus_next.service import ServiceInterface, method

TYPE = "climate"
ROOM = {"type": "string", "enum": ["greenhouse", "shed"]}
TOOLS = [
    {
        "name": "read",
        "title": "Read the climate",
        "description": "Measure a room.\n\nReturns: degrees Celsius now, and what was asked for.",
        "inputSchema": {
            "type": "object",
            "properties": {"room": ROOM},
            "required": ["room"],
            "additionalProperties": False,
        },
        "outputSchema": {
            "type": "object",
            "properties": {"room": {"type": "string"}, "celsius": {"type": "number"}, "target": {"type": "integer"}},
            "required": ["room", "celsius", "target"],
        },
    },
    {
        "name": "set_target",
        "title": "Set the temperature",
        "description": "Set what a room is heated to.",
        "inputSchema": {
            "type": "object",
            "properties": {"room": ROOM, "celsius": {"type": "integer", "minimum": 5, "maximum": 30}},
            "required": ["room", "celsius"],
            "additionalProperties": False,
        },
        "annotations": {"destructiveHint": False},
    },
]


class Agent(ServiceInterface):
    def __init__(self):
        super().__init__("org.dbusmcp.Agent")
        self.ended = asyncio.Event()
        self.targets = {"greenhouse": 20, "shed": 8}

    @method()
    def GetCapabilities(self) -> "s":
        return json.dumps({"tools": TOOLS})

    @method()
    def ExecuteTask(self, task: "s") -> "s":
        task, began = json.loads(task), time.monotonic()
        result = {"id": task["id"], "status": "success", "output": None, "error": None}
        try:
            result["output"] = self.do(**task["params"])
        except Exception as error:
            result.update(status="error", error=str(error))
        result["execution_time"] = time.monotonic() - began
        return json.dumps(result)

    @method()
    def Shutdown(self, force: "b") -> "b":
        # After the answer.
        asyncio.get_running_loop().call_later(0.05, self.ended.set)
        return True

    def do(self, name, arguments, principal, role):
        """One tool. The arguments fit its schema."""
        room = arguments["room"]
        if name == "read":
            # In place of a sensor.
            return {"room": room, "celsius": 21.5, "target": self.targets[room]}
        self.targets[room] = arguments["celsius"]
        return f"{room}: {arguments['celsius']} degrees, asked by {principal} ({role})"


async def main():
    agent, bus = Agent(), await MessageBus(bus_type=BusType.SYSTEM).connect()
    bus.export(f"/org/dbusmcp/Agent/{TYPE}/0", agent)
    # The name comes last: with it, raspi-mcp begins to ask.
    await bus.request_name(f"org.dbusmcp.Agent.{TYPE}")
    await agent.ended.wait()


asyncio.run(main())
