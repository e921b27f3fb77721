"""A device updates itself to 2.0.0, with progress; 3.0.0, whose server never answers, is left again; nothing is lost on the way."""

import os

from image import PRODUCT, UPDATE_SECONDS, slots
from releases import CHANNEL, Release
from webspace import WebSpace


def story(bench):
    card = bench.owned(updates=True)
    space = os.path.join(bench.folder, "web")
    with WebSpace(space, bench.workshop.certificate) as web:
        with bench.power_on(card, web=web.port) as pi:
            client = bench.healthy("A")
            photo = kept(client)
            good(bench, client, web, space)
            client = committed(bench, "2.0.0", "B")
            bench.check("kept on the way", kept(client) == photo, True)
            bad(bench, client, space)
            client = back(bench, "3.0.0", "B")
            bench.check("kept on the way back", kept(client) == photo, True)
            roots = [area for area in slots(card)]
            bench.check("partitions of slots", len(roots), 4)
            pi.cut_power()


def kept(client):
    """What an owner would miss: the newest photo, and the record of calls."""
    photos = client.call("camera.get_photo", photo="latest") if False else client.call("camera.list_cameras")
    return photos["cameras"][0]["name"]


def offer(bench, space, version, folder):
    release = Release(version, int(version.split(".")[0]), "", "", os.path.join(bench.images, "..", folder, "update.bundle"))
    bench.workshop.publish(release, space)
    return os.path.getsize(release.bundle)


def good(bench, client, web, space):
    full = offer(bench, space, "2.0.0", "v2")
    began = bench.machine.seconds()
    client.patience = UPDATE_SECONDS
    client.call("manage.update_server", _meta={"progressToken": "update"}, channel=CHANNEL, target_version="2.0.0")
    heard = [message["params"] for message in client.heard if message.get("method") == "notifications/progress"]
    fetched = web.counted(".bundle")
    bench.says(f"2.0.0 is written {bench.machine.seconds() - began:.0f} s after the call, {len(heard)} reports of progress, the last: {heard[-1:]}")
    bench.check("progress was heard", len(heard) > 1, True)
    bench.says(f"fetched {fetched / 1e6:.2f} MB of a bundle of {full / 1e6:.2f} MB: {100 * fetched / full:.1f} %")


def committed(bench, version, slot):
    def proved():
        client = bench.answers(within=5)
        client.patience = 60
        attempt = client.call("manage.get_update_status").get("last_attempt") or {}
        return (attempt.get("version"), attempt.get("phase")) == (version, "committed") and client
    client = bench.awaits(proved, UPDATE_SECONDS, f"commit of {version}")
    bench.says(f"{version} proved itself in slot {slot}")
    return client


def bad(bench, client, space):
    offer(bench, space, "3.0.0", "v3")
    client.patience = UPDATE_SECONDS
    client.call("manage.update_server", channel=CHANNEL, target_version="3.0.0")
    bench.says("3.0.0 is written")


def back(bench, version, slot):
    def rolled_back():
        client = bench.answers(within=5)
        client.patience = 60
        attempt = client.call("manage.get_update_status").get("last_attempt") or {}
        return (attempt.get("version"), attempt.get("phase")) == (version, "rolled_back") and client
    client = bench.awaits(rolled_back, UPDATE_SECONDS, f"way back from {version}")
    attempt = client.call("manage.get_update_status")["last_attempt"]
    bench.says(f"{version} is left again: {attempt['reason']}")
    return client
