"""langchain-mcp-adapters: tools as an agent receives them. langchain_client.py legacy stdio PROGRAM | http URL."""

import asyncio
import json
import sys

from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.prompts import load_mcp_prompt
from langchain_mcp_adapters.resources import load_mcp_resources
from langchain_mcp_adapters.tools import load_mcp_tools

from story import HEADERS, Refused, Story, arguments


class LangChain:
    # It has no subscriptions, and a cancelled task is not reported to the server: the underlying SDK (1.x) sends nothing. Log messages
    # come to its callback, but it has no call for the level.
    offers = {"progress", "resource", "prompt"}

    def __init__(self, session, info, tools, steps):
        self.session, self.info, self.all, self.steps = session, info, tools, steps

    def server(self):
        return self.info.serverInfo.name, f"{self.info.serverInfo.version}, {self.info.protocolVersion}"

    async def tools(self):
        return list(self.all)

    async def call(self, name, args):
        # Called as an agent does: a tool call in, the message for the model out.
        message = await self.all[name].ainvoke({"type": "tool_call", "id": "1", "name": name, "args": args})
        if message.status == "error":
            raise Refused("\n".join(block["text"] for block in message.content))
        # The model reads the text; programs have the artifact.
        check = json.loads(message.content[0]["text"])
        assert check == message.artifact["structured_content"], "text and structured content differ"
        return message.artifact["structured_content"]

    async def progress(self, name, args):
        await self.call(name, args)
        return self.steps

    async def read(self, uri):
        return (await load_mcp_resources(self.session, uris=uri))[0].as_string()

    async def prompt(self, name):
        return [message.content for message in await load_mcp_prompt(self.session, name)]


async def main():
    _, transport, place = arguments()
    steps = []

    async def on_progress(progress, total, message, context):
        steps.append(progress)

    callbacks = Callbacks(on_progress=on_progress)
    connection = (
        {"transport": "stdio", "command": place, "args": []}
        if transport == "stdio"
        else {"transport": "http", "url": place, "headers": HEADERS}
    )
    client = MultiServerMCPClient({"pi": connection}, callbacks=callbacks)
    async with client.session("pi", auto_initialize=False) as session:
        info = await session.initialize()
        tools = {tool.name: tool for tool in await load_mcp_tools(session, callbacks=callbacks, server_name="pi")}
        return await Story(LangChain(session, info, tools, steps)).tell()


sys.exit(0 if asyncio.run(main()) else 1)
