#!/usr/bin/env python3
"""Prints what is in a package, as CycloneDX 1.5: contents.py PACKAGE PROGRAM LOCK CARGO-TREE-OPTION...

In the list are the crates that the program is built from, as `cargo tree` has them with these options (edges, target and features), the C
libraries that two of them bring, and Rust's standard library. What only runs while it is built is not in it, nor is what the package
depends on: apt knows that. The date is SOURCE_DATE_EPOCH's, so the same package gives the same bytes.

The program is read as well. Crates that its panic messages name are listed even if `cargo tree` does not know them: those of a standard
library that was built from its source, by LOCK, its Cargo.lock (if that file exists), and those that a build with other features has. A
crate in neither lock file, another SQLite than the listed one, and a program that does not say its rustc are errors.
Documents: CycloneDX 1.5, https://cyclonedx.org/docs/1.5/json/; package URLs, https://github.com/package-url/purl-spec (cargo, deb, generic).
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def crates(options):
    """{(name, version): licence} of all crates that are linked, without our own."""
    tree = output("cargo", "tree", "--locked", "--package", "raspi-mcp", "--prefix", "none", "--format", "{p}|{l}|", *options)
    found = {}
    for line in tree.splitlines():
        package, licence = line.split("|")[:2]
        name, version, *more = package.split(" ")
        # Ours are paths: "raspi-mcp v0.2.0 (/path)".
        if not more or not more[0].startswith("(/"):
            found[name, version.removeprefix("v")] = licence.replace("/", " OR ")
    return found


def checksums(lock):
    """{(name, version): SHA-256} of the crates of a Cargo.lock; none, if there is no such file."""
    locked = tomllib.loads(lock.read_text())["package"] if lock.exists() else []
    return {(each["name"], each["version"]): each.get("checksum") for each in locked}


def sqlite(version, program):
    """The version of SQLite that libsqlite3-sys of that version brings. It has to be in the program."""
    packages = json.loads(output("cargo", "metadata", "--locked", "--format-version", "1"))["packages"]
    crate = next(each for each in packages if (each["name"], each["version"]) == ("libsqlite3-sys", version))
    header = pathlib.Path(crate["manifest_path"]).parent / "sqlite3/sqlite3.h"
    bundled = re.search(r'^#define SQLITE_VERSION +"([^"]+)"', header.read_text(), re.MULTILINE)[1]
    if bundled.encode() not in program:
        raise SystemExit(f"contents.py: {header} is SQLite {bundled}, which is not in the program")
    return bundled


def rustc(path):
    """The version of the compiler, which is its standard library's, from the section that it writes."""
    said = re.search(r"rustc version (\S+)", output("readelf", "--string-dump=.comment", path))
    if said is None:
        raise SystemExit(f"contents.py: {path} does not say which rustc made it: its section .comment was removed")
    return said[1]


def named(program):
    """(name, version) of the crates whose sources panic messages of the program name."""
    pattern = rb"/registry/src/[^/\0]+/([A-Za-z0-9_-]+?)-([0-9]+\.[0-9]+\.[0-9]+[A-Za-z0-9.+-]*)/"
    return {(name.decode(), version.decode()) for name, version in re.findall(pattern, program)}


def component(name, version, purl, licence=None, checksum=None):
    made = {"type": "library", "bom-ref": purl, "name": name, "version": version}
    if checksum:
        made["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if licence:
        made["licenses"] = [{"expression": licence}]
    return made | {"purl": purl}


def main(package, path, lock, *options):
    program, linked = pathlib.Path(path).read_bytes(), crates(options)
    locked = checksums(pathlib.Path(lock)) | checksums(pathlib.Path("Cargo.lock"))
    more = named(program) - linked.keys()
    if unknown := more - locked.keys():
        raise SystemExit(f"contents.py: {path} names crates that are neither in Cargo.lock nor in {lock}: {sorted(unknown)}")
    components = [
        component(name, version, f"pkg:cargo/{name}@{version.replace('+', '%2B')}", linked.get((name, version)), locked[name, version])
        for name, version in linked.keys() | more
    ]
    versions = dict(linked.keys())
    generic = {"rust": (rustc(path), "MIT OR Apache-2.0")}
    generic["sqlite"] = (sqlite(versions["libsqlite3-sys"], program), "blessing")
    generic["zstd"] = (versions["zstd-sys"].partition("+zstd.")[2], "BSD-3-Clause OR GPL-2.0-only")
    components += [component(name, version, f"pkg:generic/{name}@{version}", licence) for name, (version, licence) in generic.items()]
    name, version, arch = (output("dpkg-deb", "--field", package, field).strip() for field in ("Package", "Version", "Architecture"))
    whole = component(name, version, f"pkg:deb/raspi-mcp/{name}@{version}?arch={arch}", "MIT OR Apache-2.0",
                      hashlib.sha256(pathlib.Path(package).read_bytes()).hexdigest())
    made = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    print(json.dumps({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": f"{made:%Y-%m-%dT%H:%M:%SZ}", "component": whole | {"type": "application"}},
        "components": sorted(components, key=lambda each: each["bom-ref"]),
    }, indent=1))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
