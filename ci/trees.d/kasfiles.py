#!/usr/bin/env python3
"""Checks the kas files of the Yocto layer with kas' own schema, and the targets they build against the layer: kasfiles.py

Nothing is fetched: whether a branch has that name only its server knows.
"""

import importlib.resources
import json
import pathlib
import sys

import jsonschema
import yaml

HERE = pathlib.Path(__file__).resolve().parents[2]
LAYER = HERE / "meta-raspi-mcp"
failures = []


def check(good, what):
    if not good:
        failures.append(what)


def whole(file):
    """A file merged with its includes, later ones over earlier ones."""
    found = {}
    content = yaml.safe_load(file.read_text())
    for name in content["header"].get("includes", []):
        check((file.parent / name).exists(), f"{file.name} includes {name}, which is not there")
        found |= {key: {**found.get(key, {}), **value} if isinstance(value, dict) else value for key, value in whole(file.parent / name).items()}
    return {**found, **content, "repos": {**found.get("repos", {}), **content.get("repos", {})}}


def main():
    schema = json.loads((importlib.resources.files("kas") / "schema-kas.json").read_text())
    machines = {}
    for file in sorted((LAYER / "kas").glob("*.yml")):
        content = yaml.safe_load(file.read_text())
        for error in jsonschema.Draft7Validator(schema).iter_errors(content):
            check(False, f"{file.name}: {error.json_path}: {error.message}")
        if "machine" in content:
            machines[content["machine"]] = whole(file)
            check(file.stem == content["machine"], f"{file.name} is for {content['machine']}")
    boards = (LAYER / "conf/distro/include/raspi-mcp-boards.inc").read_text()
    known = {line.partition(":")[2].split()[0] for line in boards.splitlines() if line.startswith("RASPI_MCP_BOARD:")}
    check(set(machines) == known, f"kas builds {sorted(machines)}, the layer knows {sorted(known)}")
    layer = (LAYER / "conf/layer.conf").read_text()
    for machine, content in machines.items():
        check((LAYER / f"conf/distro/{content.get('distro')}.conf").exists(), f"{machine}: there is no distro {content.get('distro')}")
        check(list(LAYER.glob(f"**/{content.get('target')}.bb")), f"{machine}: there is no recipe {content.get('target')}")
        for name, repository in content["repos"].items():
            if not (repository or {}).get("url"):
                check(all((HERE / folder / "conf/layer.conf").exists() for folder in repository["layers"]), f"{machine}: {name} is not this checkout")
            elif name != "bitbake":
                check(f'"{repository["branch"]}"' in layer, f"{machine}: the layer is not for {name}'s {repository['branch']}")
        check(("meta-raspberrypi" in content["repos"]) == machine.startswith("raspberrypi"), f"{machine}: is it a Raspberry Pi?")
    print(f"kas: {len(machines)} machines, all of the schema")
    for failure in failures:
        print(f"meta-raspi-mcp/kas: {failure}", file=sys.stderr)
    return 1 if failures or not machines else 0


if __name__ == "__main__":
    sys.exit(main())
