"""A device updates itself to 2.0.0, is rolled back by a person, and rolls back 3.0.0, whose server never answers.

In 2.0.0 one file of twenty is changed and longer; progress is reported, only changes are downloaded, and no data is lost."""

import os
import random
import shutil
import subprocess

from image import UPDATE_SECONDS
from webspace import WebSpace


def story(bench):
    card = bench.owned(updates=True)
    space = bench.space()
    with WebSpace(space, bench.workshop.certificate) as web, bench.power_on(card, web=web.port) as pi:
        client = bench.healthy("A")
        first = next(row["version"] for row in client.call("manage.get_update_status")["slots"] if row["running"])
        client.patience = UPDATE_SECONDS
        photo = client.call("camera.take_photo", format="jpeg")["name"]
        had = kept(bench, client, photo)
        bench.check("its name, from the file", had["name"], "bench")
        bench.says(f"{first} has a name, a photo, and {had['calls']} records of calls about it: {had['name']}, {photo}")

        full = bench.offer("2.0.0", 2, space, grown(bench))
        began = pi.seconds()
        client.call("manage.update_server", _meta={"progressToken": "update"}, target_version="2.0.0")
        steps = [message["params"]["message"] for message in client.heard if message.get("method") == "notifications/progress"]
        fetched = web.counted(".bundle")
        bench.says(f"2.0.0 is written {pi.seconds() - began:.0f} s after the call, with {len(steps)} reports of progress: {steps[0]} ... {steps[-1]}")
        bench.check("more than one report", len(steps) > 1, True)
        bench.says(f"fetched {fetched / 1e6:.2f} MB of a bundle of {full / 1e6:.2f} MB: {100 * fetched / full:.1f} %")
        bench.check("at most 7 % of it", fetched <= full * 0.07, True)
        client = bench.ended("2.0.0", "committed", "B")
        bench.check("what it had is there", kept(bench, client, photo), had)

        client.call("manage.rollback")
        client = bench.ended(first, "committed", "A")
        bench.check("what it had is there", kept(bench, client, photo), had)

        bench.offer("3.0.0", 3, space, "ci/image.d/bad")
        client.call("manage.update_server", target_version="3.0.0")
        bench.says("3.0.0 is written")
        client = bench.ended("3.0.0", "rolled_back", "A")
        bench.check("what it had is there", kept(bench, client, photo), had)
        pi.cut_power()


def grown(bench):
    """A folder to lay over the root: of its programs and libraries so many as are a twentieth of all files, each with up to 8 KiB behind
    it, which none of them minds. Not what the initramfs has as well: it is one compressed file, and another one with any of them."""
    tree, into = os.path.join(os.path.dirname(bench.images), "target"), os.path.join(bench.folder, "grown")
    listed = subprocess.run(f"gzip -dc {bench.images}/initrd | cpio -t --quiet", shell=True, check=True, capture_output=True, text=True).stdout
    initramfs = {os.path.basename(name) for name in listed.splitlines()}
    paths = sorted(os.path.join(folder, name) for folder, _, names in os.walk(tree) for name in names)
    files = [path for path in paths if os.path.isfile(path) and not os.path.islink(path)]
    programs = []
    for path in files:
        with open(path, "rb") as file:
            if file.read(4) == b"\x7fELF" and not path.endswith(".ko") and os.path.basename(path) not in initramfs:
                programs.append(path)
    shutil.rmtree(into, ignore_errors=True)
    dice = random.Random(2)
    for path in dice.sample(programs, len(files) // 20):
        copy = os.path.join(into, os.path.relpath(path, tree))
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copy(path, copy)
        with open(copy, "ab") as file:
            file.write(dice.randbytes(dice.randrange(1, 8192)))
    return into


def kept(bench, client, photo):
    """What an owner would miss. Among it: by what a phone knows the approval page, and an approver the device."""
    taken = client.call("camera.get_photo", name=photo)
    calls = client.call("logs.get_recent_audit_logs", tool="camera.take_photo")["entries"]
    return {"page and device": bench.page(), "name": client.call("system.get_basic_info")["hostname"], "photo": taken["size_bytes"], "calls": len(calls)}
