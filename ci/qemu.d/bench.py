"""Runs scenarios: each file of scenarios/ is one, run by its `story(bench)`. Started by ci/qemu. Several run in parallel, each in its own
process, and the output of each is shown when it has ended."""

import contextlib
import functools
import glob
import importlib.util
import io
import multiprocessing
import os
import shutil
import sys
import time
import traceback
from concurrent import futures

from disk import Disk
from firmware import Pi
from machine import HERE, appliance
from releases import Workshop
from webspace import certificates
from wires import Missed


# Created when the first scenario of this process needs it.
WORKSHOP = None
# Messages of the worker processes.
STORIES = []
# Machines that run in parallel. An emulated one keeps a core busy, but a scenario mostly waits for deadlines and watchdogs.
SIDE_BY_SIDE = int(os.environ.get("RASPI_MCP_MACHINES", "0")) or 1 + min(2, os.cpu_count() or 1)


class Bench:
    """The interface that a scenario uses."""

    def __init__(self, folder, factory):
        self.folder, self.factory, self.machine, self.power_ons = folder, factory, None, 0

    @functools.cached_property
    def workshop(self):
        """The factory that makes releases, and the certificate of the web space; shared by all scenarios of a process."""
        global WORKSHOP
        if not WORKSHOP:
            folder = os.path.join(os.path.dirname(self.factory.path), "releases", multiprocessing.current_process().name)
            ca, certificate = certificates(os.path.join(folder, "certificates"))
            WORKSHOP = Workshop(os.path.join(folder, "made"), self.factory.pieces, os.environ["RASPI_MCP_HOST"], ca)
            WORKSHOP.certificate = certificate
        return WORKSHOP

    def disk(self):
        """A disk in factory state."""
        return self.factory.copy(os.path.join(self.folder, "disk.img"))

    def power_on(self, disk, flow="uboot", **wires):
        """Starts the machine on this disk: with U-Boot, or with a program that behaves like a Raspberry Pi's firmware. Use it
        with `with`. `wires` are those of machine.board."""
        self.power_ons += 1
        log = os.path.join(self.folder, f"console-{self.power_ons}.log")
        self.machine = Pi(disk, log, self.folder, **wires) if flow == "tryboot" else appliance(disk, log, **wires)
        return self.machine

    def healthy(self, slot, **more):
        """Waits until this slot is up and healthy, and prints how long that took."""
        self.machine.healthy(slot, **more)
        self.says(f"slot {slot} is up and healthy ({self.machine.cpu_seconds():.1f} s of CPU since power-on)")

    def says(self, what):
        """Prints a line of the scenario immediately."""
        clock = f"{self.machine.seconds():6.1f} s" if self.machine else " " * 8
        print(f"  {clock}  {what}", flush=True)

    def check(self, what, got, wanted):
        """Prints it if the values are equal, and fails the scenario otherwise."""
        if got != wanted:
            raise Missed(f"{what}: expected {wanted!r}, got {got!r}")
        self.says(f"{what}: {got}")


def load(folder="scenarios"):
    """Every scenario by name: the smoke test first, the rest in alphabetical order."""
    found = {}
    for path in sorted(glob.glob(os.path.join(HERE, folder, "*.py"))):
        name = os.path.splitext(os.path.basename(path))[0]
        spec = importlib.util.spec_from_file_location(f"scenario_{name}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found[name.replace("_", "-")] = module
    return dict(sorted(found.items(), key=lambda item: (item[0] != "smoke", item[0])))


def tell(name, module, folder, factory, kind=Bench):
    """Runs one scenario and returns whether it succeeded. After a failure, the last lines of the console are shown. `kind` is called with the
    folder and the factory."""
    print(f"\n{name}: {module.__doc__.strip().splitlines()[0]}", flush=True)
    os.makedirs(folder, exist_ok=True)
    bench = kind(folder, factory)
    started, well = time.monotonic(), False
    try:
        module.story(bench)
        print(f"  ok      {time.monotonic() - started:.1f} s", flush=True)
        well = True
    except Missed as missed:
        print(f"  FAILED  {missed}")
    except Exception:
        print("  FAILED  by a mistake of the bench or the scenario:")
        traceback.print_exc(file=sys.stdout)
    finally:
        if bench.machine:
            bench.machine.close()
    if well:
        only_logs(folder)
        return True
    if bench.machine:
        print(f"  last lines of {os.path.relpath(bench.machine.console.path)}:")
        for line in bench.machine.console.tail():
            print(f"    | {line}")
    sys.stdout.flush()
    return False


def only_logs(folder):
    """Removes all files of a scenario except its consoles: its disks and recordings would fill a small machine."""
    for path, folders, names in os.walk(folder, topdown=False):
        for name in names:
            if not name.endswith(".log"):
                os.remove(os.path.join(path, name))
        for name in folders:
            inner = os.path.join(path, name)
            if not os.path.islink(inner) and not os.listdir(inner):
                os.rmdir(inner)


def told(stories):
    """Runs them all, and yields each name as it ends, and whether it succeeded."""
    if min(SIDE_BY_SIDE, len(stories)) < 2:
        yield from ((story[0], tell(*story)) for story in stories)
        return
    # The longest first: a scenario may state its MINUTES.
    STORIES.extend(sorted(stories, key=lambda story: -getattr(story[1], "MINUTES", 0)))
    # Forked: everything is loaded already, and the modules of scenarios cannot be pickled.
    with futures.ProcessPoolExecutor(SIDE_BY_SIDE, mp_context=multiprocessing.get_context("fork")) as workers:
        for ended in futures.as_completed([workers.submit(quietly, number) for number in range(len(stories))]):
            name, well, said = ended.result()
            print(said, end="", flush=True)
            yield name, well


def quietly(number):
    """Runs one in its own process: returns its name, whether it succeeded, and its output."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        well = tell(*STORIES[number])
    return STORIES[number][0], well, said.getvalue()


def main(arguments):
    scenarios = load()
    if arguments == ["--list"]:
        for name, module in scenarios.items():
            print(f"  {name:18} {module.__doc__.strip().splitlines()[0]}")
        return 0
    build, names = arguments[0], arguments[1:]
    sets = {"all": list(scenarios), "boot": [name for name in scenarios if not name.startswith("update-")],
            "updates": [name for name in scenarios if name.startswith("update-")]}
    wanted = [name for asked in names for name in sets.get(asked, [asked])]
    if unknown := [name for name in wanted if name not in scenarios]:
        print(f"there is no scenario {', '.join(unknown)}; they are: {', '.join(scenarios)}", file=sys.stderr)
        return 2
    factory = Disk.factory(os.path.join(build, "factory.img"), os.path.join(build, "pieces"))
    shutil.rmtree(os.path.join(build, "releases"), ignore_errors=True)
    stories = [(name, scenarios[name], os.path.join(build, "runs", name), factory) for name in wanted]
    failed = [name for name, well in told(stories) if not well]
    print(f"\nqemu: {len(wanted) - len(failed)} of {len(wanted)} scenarios passed{'; failed: ' * bool(failed)}{', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
