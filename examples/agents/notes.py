#!/usr/bin/python3
"""An agent of kind "mcp": an MCP server on standard input and output, without a library. It keeps notes while it runs."""
import json
import sys

NOTES = []
TOOLS = [
    {
        "name": "add",
        "title": "Add a note",
        "description": "Keep a line of text.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string", "maxLength": 200}},
            "required": ["text"],
            "additionalProperties": False,
        },
        "annotations": {"destructiveHint": False},
    },
    {
        "name": "list",
        "title": "List the notes",
        "description": "All notes, oldest first.",
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
        "outputSchema": {
            "type": "object",
            "properties": {"notes": {"type": "array", "items": {"type": "string"}}},
            "required": ["notes"],
        },
    },
]


def call(name, arguments):
    if name == "add":
        NOTES.append(arguments["text"])
        return {"content": [{"type": "text", "text": f"{len(NOTES)} notes"}]}
    if name == "list":
        result = {"notes": NOTES}
        return {"content": [{"type": "text", "text": json.dumps(result)}], "structuredContent": result}
    return {"content": [{"type": "text", "text": f"there is no tool {name}"}], "isError": True}


def answer(method, params):
    if method == "initialize":
        info = {"name": "notes", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return call(params["name"], params.get("arguments", {}))
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
