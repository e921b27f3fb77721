"""The Python SDK's smallest server: one echo tool, over stdio or (with a port) over Streamable HTTP with sessions."""

import sys

from mcp.server import MCPServer

server = MCPServer("echo", log_level="ERROR")


@server.tool()
def echo(message: str) -> str:
    """Answers the message."""
    return message


if len(sys.argv) > 1:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    server.run("stdio")
