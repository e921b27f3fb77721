#!/usr/bin/env python3
"""An MCP server that does what no server should: each of its tools in its own way."""

import json
import os
import sys
import time

MIB = 1 << 20


def write(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def send(**message):
    write(json.dumps({"jsonrpc": "2.0", **message}))


TOOLS = ["notify", "values", "text", "garbage", "changed", "picture", "hang", "die", "endless"]

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    method, number = message["method"], message["id"]
    if method == "initialize":
        send(id=number, result={"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}})
    elif method == "tools/list":
        send(id=number, result={"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]})
    elif method != "tools/call":
        send(id=number, result={})
    else:
        content = [{"type": "text", "text": "done"}]
        match message["params"]["name"]:
            case "notify":
                send(method="notifications/message", params={"level": "info", "data": "x" * (10 * MIB - 200)})
            case "values":
                content = [{"type": "text", "text": "x", "n": [0] * (4 * MIB)}]
            case "text":
                content = [{"type": "text", "text": "x" * (9 * MIB)}]
            case "garbage":
                write("no message\n" * 900)
            case "changed":
                for _ in range(200):
                    send(method="notifications/tools/list_changed")
            case "picture":
                content = [{"type": "image", "mimeType": "image/png", "data": "A" * (9 * MIB)}]
            case "hang":
                time.sleep(3)
                continue
            case "die":
                os._exit(3)
            case "endless":
                while True:
                    sys.stdout.write("x" * MIB)
        send(id=number, result={"content": content})
