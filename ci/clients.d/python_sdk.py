"""The official Python SDK, version 2: `mcp.Client`. python_sdk.py ERA stdio PROGRAM | http URL, the era being
legacy or auto (2026-07-28)."""

import asyncio
import contextlib
import sys
import warnings

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated
from mcp_types import ElicitResult, Implementation

from story import HEADERS, Refused, Story, arguments, until


class Sdk:
    offers = {"progress", "cancel", "resource", "subscription", "prompt", "log", "approval", "unlisted"}

    def __init__(self, client, logs, updates):
        self.client, self.logs, self.updates = client, logs, updates
        self.answer = ("cancel", None)
        self.is_modern = client.protocol_version >= "2026-07-28"

    def server(self):
        return self.client.server_info.name, f"{self.client.server_info.version}, {self.client.protocol_version}"

    async def tools(self):
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(self, name, args, **options):
        result = await self.client.call_tool(name, args, **options)
        if result.is_error:
            raise Refused("\n".join(block.text for block in result.content))
        return result.structured_content

    async def progress(self, name, args):
        steps = []

        async def on_progress(progress, total, message):
            steps.append(progress)

        await self.call(name, args, progress_callback=on_progress)
        return steps

    async def read(self, uri):
        return (await self.client.read_resource(uri)).contents[0].text

    @contextlib.asynccontextmanager
    async def subscribe(self, uri, on_update):
        if not self.is_modern:
            self.updates[uri] = on_update
            await self.client.subscribe_resource(uri)
            yield
            await self.client.unsubscribe_resource(uri)
            return
        async with self.client.listen(resource_subscriptions=[uri]) as events:

            async def follow():
                async for event in events:
                    if isinstance(event, ResourceUpdated) and event.uri == uri:
                        on_update()

            following = asyncio.create_task(follow())
            yield
            following.cancel()

    async def prompt(self, name):
        return [message.content.text for message in (await self.client.get_prompt(name)).messages]

    async def log(self, level, act):
        # In the older era the level belongs to the session; in the newer one it is part of each request.
        if not self.is_modern:
            await self.client.set_logging_level(level)
        await act()
        await until(lambda: self.logs)
        return self.logs


warnings.simplefilter("ignore")  # what the older era has is deprecated


async def main():
    era, transport, place = arguments()
    logs, updates = [], {}

    async def on_log(params):
        logs.append(params.data)

    async def on_message(message):
        if getattr(message, "method", None) == "notifications/resources/updated":
            updates.get(str(message.params.uri), lambda: None)()

    async def on_question(context, params):
        action, content = sdk.answer
        return ElicitResult(action=action, content=content)

    async with httpx2.AsyncClient(headers=HEADERS, timeout=60) as http:
        server = (
            StdioServerParameters(command=place)
            if transport == "stdio"
            else streamable_http_client(place, http_client=http)
        )
        options = {"logging_callback": on_log, "message_handler": on_message, "log_level": "info", "mode": era}
        options |= {"elicitation_callback": on_question, "client_info": Implementation(name="clients-part", version="1")}
        async with Client(server, **options) as client:
            sdk = Sdk(client, logs, updates)
            return await Story(sdk).tell()


sys.exit(0 if asyncio.run(main()) else 1)
