#!/usr/bin/env python3
"""Writes the two lists that other programs read: describe.py FOLDER URL NAME VERSION [CARD=FOLDER]...

os_list.json is a repository for Raspberry Pi Imager (rpi-imager, doc/json-schema). server.json is an entry of the MCP registry
(modelcontextprotocol/registry, docs/reference/server-json). The date is SOURCE_DATE_EPOCH's.
"""

import datetime
import hashlib
import json
import os
import pathlib
import sys

# Which Raspberry Pi a card is for, by the name of its board's folder. Imager shows the name.
BOARDS = {
    "rpi3_64": "Raspberry Pi 3",
    "rpi4_64": "Raspberry Pi 4",
    "rpi5": "Raspberry Pi 5",
}
WHAT = "MCP server that turns a Raspberry Pi into an appliance"


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def system(folder, url, version, date, card):
    """The entry of one card."""
    name, images = card.split("=", 1)
    packed = folder / f"raspi-mcp-{version}-{name}.img.xz"
    image = pathlib.Path(images) / "card.img"
    return {
        "name": f"raspi-mcp {version} ({BOARDS.get(name, name)})",
        "description": WHAT,
        "icon": f"{url}/raspi-mcp.svg",
        "url": f"{url}/{packed.name}",
        "extract_size": image.stat().st_size,
        "extract_sha256": sha256(image),
        "image_download_size": packed.stat().st_size,
        "image_download_sha256": sha256(packed),
        "release_date": date,
        # Imager's own settings do not apply: raspi-mcp.toml on partition 1 has them.
        "init_format": "none",
    }


def server(folder, url, name, version):
    """The entry of the registry: the extension for desktops, which reaches a Pi in the network."""
    extension = folder / f"raspi-mcp-{version}.mcpb"
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-09-29/server.schema.json",
        "name": name,
        "description": WHAT,
        "version": version,
        "packages": [
            {
                "registryType": "mcpb",
                "identifier": f"{url}/{extension.name}",
                "version": version,
                "fileSha256": sha256(extension),
                "transport": {"type": "stdio"},
            }
        ],
    }


def main(folder, url, name, version, *cards):
    folder = pathlib.Path(folder)
    made = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    lists = {"server.json": server(folder, url, name, version)}
    if cards:
        (folder / "raspi-mcp.svg").write_bytes(pathlib.Path("docs/header.svg").read_bytes())
        systems = [system(folder, url, version, made.date().isoformat(), card) for card in cards]
        lists["os_list.json"] = {"os_list": systems}
    for file, content in lists.items():
        (folder / file).write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    if len(sys.argv) < 5:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
