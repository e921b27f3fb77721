#!/usr/bin/env python3
"""Checks the lists of a release: check.py FOLDER

os_list.json and server.json by the schemas beside this file, lists of contents (*.cdx.json) by the strict schema of CycloneDX 1.5 that the
package cyclonedx-python-lib brings. Each schema must also refuse the document without each of its required fields, so that a schema that
accepts anything is noticed. Each package of the apt repository has a list of contents, which is of exactly that package.
"""

import hashlib
import json
import pathlib
import sys

import jsonschema
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

HERE = pathlib.Path(__file__).parent


def refused(validator, document, path, field):
    """Whether the document without that field, at the end of path, is refused."""
    copy = json.loads(json.dumps(document))
    at = copy
    for step in path:
        at = at[step]
    del at[field]
    return not validator.is_valid(copy)


def check(file, schema, inner):
    document = json.loads(file.read_text())
    schema = json.loads((HERE / schema).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for error in validator.iter_errors(document):
        raise SystemExit(f"check.py: {file.name}, at {error.json_path}: {error.message}")
    items = schema["properties"][inner]["items"]
    fields = [((), field) for field in schema["required"]] + [((inner, 0), field) for field in items["required"]]
    for path, field in fields:
        if not refused(validator, document, path, field):
            raise SystemExit(f"check.py: the schema for {file.name} takes a document without {field}")
    print(f"{file.name} is valid by our schema; it is refused without any of {len(fields)} fields")


# Required by CycloneDX 1.5: of the whole, and of each component.
WHOLE = ["bomFormat", "specVersion"]
COMPONENT = ["type", "name"]


def check_contents(file):
    """Checks a list of contents. Returns it."""
    document = json.loads(file.read_text())
    validator = JsonStrictValidator(SchemaVersion.V1_5)
    if error := validator.validate_str(json.dumps(document)):
        raise SystemExit(f"check.py: {file.name} is not valid CycloneDX 1.5: {error}")
    for place, fields in ((document, WHOLE), (document["components"][0], COMPONENT)):
        for field in fields:
            kept = place.pop(field)
            if validator.validate_str(json.dumps(document)) is None:
                raise SystemExit(f"check.py: the schema of CycloneDX takes {file.name} without {field}")
            place[field] = kept
    print(f"{file.name} is valid CycloneDX 1.5, with {len(document['components'])} components")
    return document


def check_package(folder, package):
    """Checks the list of contents of a package: it names the package, and has its checksum."""
    file = folder / f"{package.stem}.cdx.json"
    if not file.exists():
        raise SystemExit(f"check.py: {package.name} has no list of contents {file.name}")
    whole = json.loads(file.read_text())["metadata"]["component"]
    name, version, _ = package.stem.split("_")
    if (whole["name"], whole["version"]) != (name, version):
        raise SystemExit(f"check.py: {file.name} is of {whole['name']} {whole['version']}")
    if whole["hashes"] != [{"alg": "SHA-256", "content": hashlib.sha256(package.read_bytes()).hexdigest()}]:
        raise SystemExit(f"check.py: {file.name} is of another build of {package.name}: run ./ci/deb")


def main(folder):
    folder = pathlib.Path(folder)
    for file in sorted(folder.glob("*.cdx.json")):
        check_contents(file)
    for package in sorted((folder / "apt/pool").glob("*.deb")):
        check_package(folder, package)
    check(folder / "server.json", "server.schema.json", "packages")
    if (folder / "os_list.json").exists():
        check(folder / "os_list.json", "os_list.schema.json", "os_list")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])
