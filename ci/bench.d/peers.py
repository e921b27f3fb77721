"""Starts each server for a measurement: ours, and the others in the versions that ci/bench installs."""

import json
import os

from wire import Http, Stdio, free_port


def environment(folder, **more):
    kept = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
    return {**kept, "HOME": folder, **more}


def our_environment(folder, **more):
    state, run = f"{folder}/state", f"{folder}/run"
    os.makedirs(state, 0o700, exist_ok=True)
    os.makedirs(run, 0o700, exist_ok=True)
    return environment(
        folder, XDG_STATE_HOME=state, XDG_RUNTIME_DIR=run, XDG_CONFIG_HOME=f"{folder}/config",
        RASPI_MCP__BOARD="simulated",
        RASPI_MCP__PLACES__STATE_DIR=f"{state}/raspi-mcp", RASPI_MCP__PLACES__RUNTIME_DIR=f"{run}/raspi-mcp",
        RASPI_MCP__PLACES__AGENT_STATE_DIR=f"{state}/agent", RASPI_MCP__PLACES__AGENT_SOCKET=f"{run}/agent.sock",
        RASPI_MCP__LIMITS__READS_PER_MINUTE="1000000", **more,
    )


def plain_stdio(*command):
    return lambda folder: Stdio(list(command), environment(folder), folder)


def plain_http(*command):
    def open_it(folder):
        port = free_port()
        return Http([*command, str(port)], port, environment(folder), folder)

    return open_it


class Peers:
    """The other servers, as ci/bench installs them below its build folder."""

    def __init__(self, node, build):
        self.node, self.python, self.npm = node, f"{build}/peers-py/bin", f"{build}/peers-npm/node_modules"

    def filesystem(self, folder):
        command = [self.node, f"{self.npm}/@modelcontextprotocol/server-filesystem/dist/index.js", folder]
        return Stdio(command, environment(folder), folder)

    def desktop_commander(self, folder):
        command = [self.node, f"{self.npm}/@wonderwhy-er/desktop-commander/dist/index.js"]
        return Stdio(command, environment(folder), folder)

    def linux_mcp(self, folder):
        return Stdio([f"{self.python}/linux-mcp-server"], environment(folder), folder)

    def crunchtools(self, folder):
        return Stdio([f"{self.python}/mcp-systemd-crunchtools"], environment(folder), folder)

    def mymcp(self, folder, role="ro"):
        """`role`: "ro" has its own tools, "rw" a shell as well, with which it lists processes and services."""
        port = free_port()
        reader = {"name": "bench", "created_at": "2026-01-01T00:00:00Z", "last_used": None, "enabled": True, "role": role}
        with open(f"{folder}/tokens.json", "w") as f:
            json.dump({"tokens": {"tok_bench": reader}, "admin_token": "bench-admin"}, f)
        env = environment(
            folder, MYMCP_HOST="127.0.0.1", MYMCP_PORT=str(port), MYMCP_ADMIN_TOKEN="bench-admin",
            MYMCP_TOKEN_FILE=f"{folder}/tokens.json", MYMCP_AUDIT_LOG_DIR=f"{folder}/audit", MYMCP_AUDIT_ENABLED="true",
        )
        with open(f"{folder}/env", "w") as f:
            f.writelines(f"{key}={value}\n" for key, value in env.items() if key.startswith("MYMCP_"))
        command = [f"{self.python}/mymcp", "serve", "-host", "127.0.0.1", "-port", str(port), "-env-file", f"{folder}/env"]
        return Http(command, port, env, folder, headers=["Authorization: Bearer tok_bench"])
