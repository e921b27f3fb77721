"""Decides which parts of ./ci/test run, and why: docs/ci.md, "Which parts run".

plan.py complete | all                what a complete run does: lines "run PART REASON" or "leave PART REASON", separated by tabs
plan.py before-push BASE              what the change since the commit BASE needs, within BEFORE_PUSH seconds
plan.py fingerprint PART              what the part reads now: one line, empty if that cannot be told, or if its result is never kept
plan.py passed PART SECONDS FINGERPRINT   writes into ci/passed.toml that the part passed, unless its inputs have changed since
"""

import datetime
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib

ROOT = os.environ.get("RASPI_MCP_PLAN_ROOT") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INPUTS, RECORD, TABLE = "ci/inputs.toml", "ci/passed.toml", "docs/ci.md"
# What `./ci/test before-push` may take, by the times in docs/ci.md.
BEFORE_PUSH = 20 * 60
# In the fingerprint beside groups of files.
TOOLS, UNGROUPED, TOOLCHAIN, PACKAGES, SCRIPT = "tools", "ungrouped", "toolchain", "debian", "script"


def run(*command):
    """Its output; raises CalledProcessError or OSError."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def text(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


@functools.cache
def inputs():
    return tomllib.loads(text(INPUTS))


def record():
    return tomllib.loads(text(RECORD)) if os.path.exists(os.path.join(ROOT, RECORD)) else {}


def pattern(glob):
    """The regular expression of a path with *, ** and [...]."""
    out = ""
    for piece in re.split(r"(\*\*/|\*\*|\*|\[[^]]*\])", glob):
        if piece == "**/":
            out += "(?:.*/)?"
        elif piece == "**":
            out += ".*"
        elif piece == "*":
            out += "[^/]*"
        elif piece.startswith("["):
            out += piece.replace("[!", "[^/")
        else:
            out += re.escape(piece)
    return out


@functools.cache
def groups():
    """By name, what fits the paths of a group."""
    return {name: re.compile("|".join(map(pattern, globs))) for name, globs in inputs()["groups"].items()}


@functools.cache
def files():
    """The files that git knows, and new ones that it does not ignore, in order."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    return sorted(path for path in set(listed) if path and os.path.lexists(os.path.join(ROOT, path)))


@functools.cache
def content(path):
    """The digest of a file's mode and bytes; of a link, of where it leads."""
    full = os.path.join(ROOT, path)
    if os.path.islink(full):
        return hashlib.sha256(b"link " + os.readlink(full).encode()).digest()
    with open(full, "rb") as file:
        mode = b"x " if os.stat(full).st_mode & 0o100 else b"f "
        return hashlib.sha256(mode + file.read()).digest()


def digest(paths):
    whole = hashlib.sha256()
    for path in paths:
        whole.update(path.encode() + b"\0" + content(path))
    return whole.hexdigest()[:32]


def namespace(path):
    """The folder of src/tools that a path is in, or None."""
    parts = path.split("/")
    return parts[2] if parts[:2] == ["src", "tools"] and len(parts) > 3 else None


@functools.cache
def groups_of(path):
    return frozenset(name for name, fits in groups().items() if fits.fullmatch(path))


def in_groups(names):
    return [path for path in files() if groups_of(path) & frozenset(names)]


def ungrouped():
    """Files that no group has: inputs of every part."""
    return [path for path in files() if not groups_of(path) and not namespace(path)]


def script(part):
    return f"ci/parts/{part}"


@functools.cache
def tool_names():
    """The namespaces of src/tools, and of each the names of its tools, as schemas/ has them."""
    names = {}
    for path in files():
        parts = path.split("/")
        if parts[0] == "schemas" and len(parts) == 3 and parts[2].endswith(".json"):
            names.setdefault(parts[1], set()).add(parts[2].removesuffix(".json"))
    return names


def named(part):
    """The namespaces of which the part's own scripts name a tool: "gpio.read_pin" or "gpio_read_pin". Sources name them all, so the
    files of the program and of its packages are not searched."""
    about = {"program", "routeros", "console", "lock", "schemas", "product", "buildroot", "texts"}
    searched = in_groups(set(inputs()["by_inputs"][part]["reads"]) - about) + [script(part)]
    # Recorded answers name every tool, since lists of tools are among them.
    said = "\n".join(text(path) for path in searched if path.endswith((".py", ".c", ".rs", ".sh")) or "." not in os.path.basename(path))
    found = set()
    for name, tools in tool_names().items():
        if re.search(rf"\b{re.escape(name)}[._](?:{'|'.join(map(re.escape, sorted(tools)))})\b", said):
            found.add(name)
    return found


def tools(part):
    """The files of src/tools that the part reads, without those that are everybody's."""
    which = inputs()["by_inputs"][part]["tools"]
    if which == "none":
        return []
    everything = [path for path in files() if namespace(path)]
    if which == "all":
        return everything
    chosen, known = named(part), tool_names()
    # A folder that is no namespace of tools belongs to all of them.
    return [path for path in everything if namespace(path) in chosen or namespace(path) not in known]


@functools.cache
def toolchain():
    return hashlib.sha256(run("rustc", "-vV").encode()).hexdigest()[:32]


def apt_cache(*command):
    """What apt-cache prints with this machine's lists of Debian's archives. Raises OSError where there are none."""
    apt = os.path.join(ROOT, "build", "apt")
    if not os.path.exists(os.path.join(apt, "sources.list")):
        raise OSError("there are no lists of Debian's packages in build/apt")
    arch = run("dpkg", "--print-architecture").strip()
    return run("apt-cache", "-o", f"Dir::Etc::SourceList={apt}/sources.list", "-o", "Dir::Etc::SourceParts=/dev/null",
               "-o", f"Dir::State::Lists={apt}/lists", "-o", f"Dir::Cache={apt}/cache", "-o", "Dir::Cache::pkgcache=pkgcache.bin",
               "-o", "Dir::Cache::srcpkgcache=srcpkgcache.bin", "-o", f"APT::Architectures::={arch}", "-o", "APT::Architectures::=arm64", *command).splitlines()


def newest(names):
    """By package, the newest version that a suite offers: the one of `debian_suite` in ci/debian.sh."""
    rows = [[cell.strip() for cell in line.split("|")] for line in apt_cache("madison", *names)] if names else []
    return {name: version for name, version, *_ in reversed(rows)}


def candidates(names):
    """By package, the version that apt installs: one of backports only if no other suite has the package."""
    found, name = {}, None
    for line in apt_cache("policy", *names) if names else []:
        if line.endswith(":") and not line.startswith(" "):
            name = line.removesuffix(":")
        elif line.startswith("  Candidate: ") and not line.endswith("(none)"):
            found[name] = line.split()[1]
    return found


@functools.cache
def versions():
    """The version of each package that a part names, as NAME or NAME/newest. Raises where Debian's lists do not tell it."""
    wanted = sorted({name for part in inputs()["packages"].values() for name in part})
    told = candidates([name for name in wanted if "/" not in name])
    latest = newest([name.removesuffix("/newest") for name in wanted if "/" in name])
    told |= {f"{name}/newest": version for name, version in latest.items()}
    missing = [name for name in wanted if name not in told]
    if missing:
        raise OSError(f"Debian's lists have no {', '.join(missing)}")
    return told


def packages(part):
    names = sorted({name for group in inputs()["by_inputs"][part].get("packages", []) for name in inputs()["packages"][group]})
    if not names:
        return None
    said = "\n".join(f"{name} {versions()[name]}" for name in names)
    return hashlib.sha256(said.encode()).hexdigest()[:32]


def fingerprint(part):
    """What the part reads: a digest of each group of its inputs. Raises OSError or CalledProcessError if that cannot be told."""
    row = inputs()["by_inputs"][part]
    found = {name: digest(in_groups([name])) for name in row["reads"]}
    found[TOOLS] = digest(tools(part))
    found[UNGROUPED] = digest(ungrouped())
    found[SCRIPT] = digest([script(part)])
    found[TOOLCHAIN] = toolchain()
    found[PACKAGES] = packages(part)
    return {name: value for name, value in sorted(found.items()) if value}


def verdict(part, kept):
    """Whether a part has to run, and why or why not."""
    before = kept.get(part)
    if before is None:
        return True, "it has no record of having passed"
    try:
        now = fingerprint(part)
    except (OSError, subprocess.CalledProcessError) as error:
        return True, f"its inputs cannot be told: {error}"
    then = before["inputs"]
    changed = sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))
    if changed:
        return True, f"changed since it passed on {before['date']}: {', '.join(changed)}"
    return False, f"nothing that it reads has changed since it passed on {before['date']} (in {before['seconds']} s)"


def say(verb, part, reason):
    print(f"{verb}\t{part}\t{reason}")


def complete():
    kept = record()
    for part in inputs()["always"]:
        say("run", part, "in every run")
    for part in inputs()["by_inputs"]:
        runs, reason = verdict(part, kept)
        say("run" if runs else "leave", part, reason)


def everything():
    for part in [*inputs()["always"], *inputs()["by_inputs"]]:
        say("run", part, "everything runs")


def seconds(part):
    """What the part took, by the table in docs/ci.md."""
    found = re.search(rf"^\| {re.escape(part)} \|.*\| (\d+):(\d\d) \|$", text(TABLE), re.MULTILINE)
    if not found:
        raise SystemExit(f"{TABLE} has no time for {part}")
    return int(found[1]) * 60 + int(found[2])


def before_push(base):
    """The parts that read what has changed, in order, as long as they fit."""
    listed = run("git", "diff", "--name-only", "--no-renames", "-z", base, "--") + run("git", "ls-files", "-z", "--others", "--exclude-standard")
    changed = sorted({path for path in listed.split("\0") if path})
    read = {name for path in changed for name in groups_of(path)}
    a_tool = any(namespace(path) for path in changed)
    a_stranger = [path for path in changed if not groups_of(path) and not namespace(path)]
    left, kept = BEFORE_PUSH, record()
    rows = [(part, row, True) for part, row in inputs()["always"].items()]
    rows += [(part, row["reads"], False) for part, row in inputs()["by_inputs"].items()]
    for part, reads, always in rows:
        why = sorted(read & set(reads))
        if script(part) in changed:
            why.append(SCRIPT)
        if a_tool and always and "program" in reads:
            why.append(TOOLS)
        if a_stranger and always:
            why.append(f"{a_stranger[0]}, which no group of {INPUTS} has")
        reason = f"changed: {', '.join(why)}"
        if not always:
            runs, reason = verdict(part, kept)
            why = why if runs else []
            if runs and (a_tool or a_stranger) and not why:
                why = [reason]
        if not why:
            say("leave", part, "the change is nothing that it reads")
        elif seconds(part) > left:
            say("leave", part, f"no time: {seconds(part)} s, {left} s left; ./ci/test {part} ({reason})")
        else:
            left -= seconds(part)
            say("run", part, reason)


def passed(part, took, before):
    """A part that passed while its inputs changed, or whose inputs were never known, leaves no record."""
    if part not in inputs()["by_inputs"] or not before:
        return
    now = json.loads(before)
    try:
        if fingerprint(part) != now:
            print(f"{part}: not recorded, since its inputs changed while it ran")
            return
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{part}: not recorded: {error}")
        return
    kept = record()
    kept[part] = {"date": datetime.date.today().isoformat(), "seconds": int(took), "inputs": now}
    lines = ["# Written by ./ci/test: what the parts read when they last passed (docs/ci.md). Commit it with the change that they passed with."]
    for name in sorted(kept):
        row = kept[name]
        pairs = ", ".join(f'{group} = "{value}"' for group, value in sorted(row["inputs"].items()))
        lines += ["", f"[{name}]", f'date = "{row["date"]}"', f"seconds = {row['seconds']}", f"inputs = {{ {pairs} }}"]
    with open(os.path.join(ROOT, RECORD), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def main(command, *arguments):
    if command == "complete":
        complete()
    elif command == "all":
        everything()
    elif command == "before-push":
        before_push(*arguments)
    elif command == "fingerprint":
        part = arguments[0]
        if part in inputs()["by_inputs"]:
            try:
                print(json.dumps(fingerprint(part)))
            except (OSError, subprocess.CalledProcessError) as error:
                print(f"{part}: {error}", file=sys.stderr)
    elif command == "passed":
        passed(*arguments)
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:] or ["help"])
