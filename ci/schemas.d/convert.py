"""Runs every listed input schema through the converters that pass tools to models: openai-agents and langchain-google-genai.

usage: convert.py SERVER ARGUMENT...   (an MCP server over stdio)

Both get the tools as their users do: by an MCP client of theirs, from tools/list. Nothing is sent to a model.
"""

import asyncio
import json
import logging
import os
import sys

from agents.mcp import MCPServerStdio
from agents.mcp.util import MCPUtil
from langchain_core.messages import HumanMessage
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_mcp_adapters.tools import convert_mcp_tool_to_langchain_tool
from mcp.types import Tool

# Schemas that this project once listed, or must never list, and each converter's expected message.
BAD = {
    "enum_of_text_and_number": {"value": {"enum": ["high", "low", 1, 0]}},
    "enum_with_null": {"value": {"type": "string", "enum": ["high", None]}},
}
FREE_MAP = {"env": {"type": "object", "additionalProperties": {"type": "string"}}}


def tool(name, properties):
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return Tool(name=name, description="A schema to be refused.", inputSchema=schema)


class Warnings(logging.Handler):
    """Collects warnings: a converter only warns about what it omits."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        # Gemini's API has no such keyword, and the server refuses unknown arguments anyway.
        if "'additionalProperties' is not supported" not in record.getMessage():
            self.texts.append(record.getMessage())


def for_openai(server, listed, strict):
    """The schema as openai-agents converts it, and whether it is strict by the SDK's own rule."""
    function = MCPUtil.to_function_tool(listed, server, strict)
    kept(listed.inputSchema, function.params_json_schema)
    return function.strict_json_schema


def for_gemini(model, listed):
    """The schema as in the request to Gemini."""
    never_called = {"transport": "stdio", "command": "none", "args": []}
    converted = convert_mcp_tool_to_langchain_tool(None, listed, connection=never_called)
    bound = model.bind_tools([converted])
    request = model._prepare_request([HumanMessage("x")], tools=bound.kwargs["tools"])
    (declared,) = request["config"].tools[0].function_declarations
    if listed.inputSchema["properties"]:
        kept(listed.inputSchema, declared.parameters.model_dump(mode="json", exclude_none=True))


def kept(wanted, made, at=""):
    """Checks that no property, enum or item type is lost in conversion."""
    lost = set(wanted.get("properties", {})) - set(made.get("properties") or {})
    if lost:
        raise ValueError(f"{at or 'arguments'}: lost {sorted(lost)}")
    if "enum" in wanted and list(made.get("enum") or []) != wanted["enum"]:
        raise ValueError(f"{at}: enum {wanted['enum']} became {made.get('enum')}")
    if str(made.get("type", "")).lower() != wanted.get("type"):
        raise ValueError(f"{at}: type {wanted.get('type')} became {made.get('type')}")
    for name, part in wanted.get("properties", {}).items():
        kept(part, made["properties"][name], f"{at}/{name}")
    if "items" in wanted:
        kept(wanted["items"], made["items"], f"{at}[]")


def refusals(what, tools, convert):
    """The tools that are not converted, each with its message."""
    failed = {}
    for listed in tools:
        heard = Warnings()
        logging.getLogger().addHandler(heard)
        try:
            convert(listed)
            if heard.texts:
                failed[listed.name] = "; ".join(heard.texts)
        except Exception as error:  # whatever a converter raises is its refusal
            failed[listed.name] = f"{type(error).__name__}: {error}"
        finally:
            logging.getLogger().removeHandler(heard)
    print(f"{what}: {len(tools) - len(failed)} of {len(tools)} converted")
    for name, why in failed.items():
        print(f"  {name}: {' '.join(why.split())[:300]}")
    return failed


async def main(command, arguments):
    # Warnings are counted, not printed.
    logging.getLogger().addHandler(logging.NullHandler())
    model = ChatGoogleGenerativeAI(model="gemini-2.5-flash", google_api_key="none")
    params = {"command": command, "args": arguments, "env": dict(os.environ)}
    async with MCPServerStdio(params=params, client_session_timeout_seconds=30) as server:
        tools = await server.list_tools()
        size = sum(len(t.name) + len(t.description) + len(json.dumps(t.inputSchema, separators=(",", ":"))) for t in tools)
        print(f"{len(tools)} tools listed, {size} bytes of names, descriptions and input schemas")
        if len(tools) < int(os.environ["TOOLS_AT_LEAST"]):
            sys.exit("too few tools: not everything is enabled")
        strict = {}
        failed = refusals("openai-agents, not strict", tools, lambda t: for_openai(server, t, False))
        failed |= refusals("openai-agents, strict or by its own rule not", tools,
                           lambda t: strict.update({t.name: for_openai(server, t, True)}))
        print(f"  {sum(strict.values())} strict; not: {[name for name, is_strict in strict.items() if not is_strict]}")
        failed |= refusals("langchain-google-genai", tools, lambda t: for_gemini(model, t))

        # The same code must refuse the known bad schemas.
        bad = [tool(name, properties) for name, properties in BAD.items()]
        refused = refusals("known to be bad, langchain-google-genai", bad, lambda t: for_gemini(model, t))
        if set(refused) != set(BAD):
            sys.exit(f"converted, though bad: {sorted(set(BAD) - set(refused))}")
        if for_openai(server, tool("free_map", FREE_MAP), True):
            sys.exit("openai-agents took a free map for strict: this program does not see what it refuses")
    if failed:
        sys.exit(f"{len(failed)} tools are not converted")


asyncio.run(main(sys.argv[1], sys.argv[2:]))
