"""The programs of dbus-mcp's own documentation against this server, as they are there: a session by pipes, clients in Python and
TypeScript, curl, a WebSocket. Changed is only the place of the program, and one name: `arguments` is no name of a parameter in a
class of JavaScript.

Command line: the folder with the programs, the server's program, Node, the folder of npm's modules. Needs port 8080 of localhost.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

FIXTURES, SERVER, NODE, MODULES = map(os.path.abspath, sys.argv[1:])
PATIENCE = 60
FAILED = []


def check(what, holds, otherwise):
    print(f"ok      {what}" if holds else f"FAILED  {what}: {str(otherwise)[:600]}")
    if not holds:
        FAILED.append(what)


def source(name):
    return (pathlib.Path(FIXTURES) / name).read_text()


def program(place, name, *args):
    """A program with these arguments and folders of its own, by the name of dbus-mcp's."""
    lines = ["#!/bin/sh", "export RASPI_MCP__BOARD=simulated RASPI_MCP__AGENT=inprocess RASPI_MCP__COMPAT=dbus-mcp"]
    for key, at in [("STATE_DIR", "state"), ("RUNTIME_DIR", "run"), ("AGENT_STATE_DIR", "agent"), ("AGENT_SOCKET", "run/agent.sock")]:
        lines.append(f"export RASPI_MCP__PLACES__{key}={place}/{name}.d/{at}")
    lines += [f"export RASPI_MCP__SOCKET__PATH={place}/{name}.d/run/mcp.sock", f"exec {SERVER} {' '.join(args)}", ""]
    path = pathlib.Path(place) / name
    path.write_text("\n".join(lines))
    path.chmod(0o755)
    return str(path)


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, **more)


def until(command, whole, **more):
    """What a program that does not end has printed once `whole` of it is true."""
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    late, said = threading.Timer(PATIENCE, started.kill), ""
    late.start()
    for line in started.stdout:
        said += line
        if whole(said):
            break
    late.cancel()
    started.kill()
    return said + started.stderr.read()


def answers(text):
    """Objects without anything between them."""
    found, decoder = [], json.JSONDecoder()
    text = text.strip()
    while text:
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:].strip()
    return found


def names(answer):
    return [tool["name"] for tool in answer["result"]["tools"]]


def text_of(answer):
    return answer["result"]["content"][0]["text"]


def session(place):
    found = answers(run("bash", "-e", f"{FIXTURES}/session.sh", cwd=place).stdout)
    check("session: each line has one answer", [answer["id"] for answer in found] == [1, 2, 3, 4, 5], found)
    check("session: initialize", found[0]["result"]["protocolVersion"] == "2024-11-05", found[0])
    check("session: the names are listed", {"systemd_status", "file_read", "network_interfaces"} <= set(names(found[1])), found[1])
    check("session: the status has a text", isinstance(text_of(found[2]), str), found[2])
    check("session: a file outside of the roots names the setting", "files.roots" in text_of(found[3]), found[3])
    check("session: interfaces", isinstance(found[4]["result"]["structuredContent"]["interfaces"], list), found[4])


def python(place, server):
    client = source("client.py").replace("/usr/local/bin/dbus-mcp", server)
    done = run(sys.executable, "-c", client)
    lines = done.stdout.splitlines()
    check("Python: it ends well", done.returncode == 0 and len(lines) >= 2, done)
    check("Python: /etc/hostname is refused and names the setting", "files.roots" in lines[-1], done)
    done = run(sys.executable, "-c", client + source("patterns.py"))
    check("Python: discovery", "Found tool: file_read\n" in done.stdout and done.returncode == 0, done)
    check("Python: errors and batches", "Success: " in done.stdout and done.stdout.count("files.roots") >= 2, done)


def typescript(place, server):
    client = source("client.ts").replace("/usr/local/bin/dbus-mcp", server)
    client = client.replace("arguments: any", "args: any").replace("{ name, arguments }", "{ name, arguments: args }")
    path = pathlib.Path(place) / "client.ts"
    path.write_text(client)
    (pathlib.Path(place) / "package.json").write_text('{"type": "module"}')
    said = until([NODE, str(path)], lambda said: said.endswith("\n}\n"), cwd=place)
    try:
        answer = answers(said[said.index('{\n  "jsonrpc"') :])[0]
        check("TypeScript: interfaces", isinstance(json.loads(text_of(answer))["interfaces"], list), said)
    except ValueError:
        check("TypeScript: interfaces", False, said)


def curl(place):
    done = run("bash", "-e", f"{FIXTURES}/curl.sh")
    found = answers(done.stdout)
    check("curl: three answers", [answer["id"] for answer in found] == [1, 2, 3], done)
    check("curl: the names are listed", "systemd_status" in names(found[1]), found)
    check("curl: the call has a text", isinstance(text_of(found[2]), str), found)


def websocket(place):
    before = pathlib.Path(place) / "before.cjs"
    before.write_text(f"globalThis.WebSocket = require({json.dumps(MODULES + '/ws')});\n")
    said = until([NODE, "-r", str(before), f"{FIXTURES}/websocket.js"], lambda said: said.count("Response: ") == 2 and "\n}\n" in said.split("Response: ")[2])
    check("WebSocket: initialize", "id: 1" in said and "protocolVersion: '2024-11-05'" in said, said)
    check("WebSocket: the list", "id: 2" in said and "tools: [" in said, said)


def served(place):
    """The server on dbus-mcp's port; ends with what stops it."""
    web = subprocess.Popen([program(place, "dbus-mcp-web", "serve", "--http", "127.0.0.1:8080")], stderr=subprocess.PIPE, text=True)
    for line in web.stderr:
        if "listening on http" in line:
            break
    threading.Thread(target=web.stderr.read, daemon=True).start()
    return web


def main():
    with tempfile.TemporaryDirectory() as place:
        server = program(place, "dbus-mcp", "serve", "--stdio", "2>/dev/null")
        session(place)
        python(place, server)
        typescript(place, server)
        web = served(place)
        try:
            curl(place)
            websocket(place)
        finally:
            web.terminate()
            web.wait()
    return bool(FAILED)


if __name__ == "__main__":
    os.environ.pop("CLIENTS_TOKEN", None)
    sys.exit(main())
