"""fastmcp's client: fastmcp_client.py ERA stdio PROGRAM | http URL, the era being legacy or auto (2026-07-28)."""

import asyncio
import logging
import sys
import warnings

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError
from mcp_types import Implementation

from story import HEADERS, Refused, Story, arguments, until


class FastMcp:
    # Subscriptions are those of the underlying SDK session; the level of log messages can be set in the older era only.
    offers = {"progress", "cancel", "resource", "prompt", "approval", "unlisted"}

    def __init__(self, client, logs):
        self.client, self.logs = client, logs
        self.answer = ("cancel", None)
        if client.protocol_version < "2026-07-28":
            self.offers = self.offers | {"log"}

    def server(self):
        info = self.client.server_info
        return info.name, f"{info.version}, {self.client.protocol_version}"

    async def tools(self):
        return [tool.name for tool in await self.client.list_tools()]

    async def call(self, name, args, **options):
        try:
            return (await self.client.call_tool(name, args, **options)).structured_content
        except ToolError as error:
            raise Refused(str(error)) from None

    async def progress(self, name, args):
        steps = []

        async def on_progress(progress, total, message):
            steps.append(progress)

        await self.call(name, args, progress_handler=on_progress)
        return steps

    async def read(self, uri):
        return (await self.client.read_resource(uri))[0].text

    async def prompt(self, name):
        return [message.content.text for message in (await self.client.get_prompt(name)).messages]

    async def log(self, level, act):
        await self.client.set_logging_level(level)
        await act()
        await until(lambda: self.logs)
        return self.logs


async def main():
    era, transport, place = arguments()
    logs = []

    async def on_log(message):
        logs.append(message.data)

    async def on_question(message, response_type, params, context):
        action, content = adapter.answer
        return ElicitResult(action=action, content=content)

    server = (
        StdioTransport(place, [], keep_alive=False)
        if transport == "stdio"
        else StreamableHttpTransport(place, headers=HEADERS)
    )
    info = Implementation(name="clients-part", version="1")
    async with Client(server, mode=era, log_handler=on_log, elicitation_handler=on_question, client_info=info) as client:
        adapter = FastMcp(client, logs)
        return await Story(adapter).tell()


warnings.simplefilter("ignore")  # what the older era has is deprecated
logging.disable(logging.ERROR)
sys.exit(0 if asyncio.run(main()) else 1)
