#!/usr/bin/env python3
"""Checks os_list.json and server.json of a release by the schemas beside this file: check.py FOLDER

Each schema must also refuse the document without each of its required fields, so that a schema that accepts anything is noticed.
"""

import json
import pathlib
import sys

import jsonschema

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


def main(folder):
    folder = pathlib.Path(folder)
    check(folder / "server.json", "server.schema.json", "packages")
    if (folder / "os_list.json").exists():
        check(folder / "os_list.json", "os_list.schema.json", "os_list")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])
