"""A device updates itself to 2.0.0, with progress and by what changed; a person goes back to the first version; 3.0.0, whose server never
answers, is left again. Nothing is lost on the way."""

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
        had = kept(client, photo)
        bench.check("its name, from the file", had["name"], "bench")
        bench.says(f"{first} has a name, a photo, and {had['calls']} records of calls about it: {had['name']}, {photo}")

        full = bench.offer("2.0.0", 2, space)
        began = pi.seconds()
        client.call("manage.update_server", _meta={"progressToken": "update"}, target_version="2.0.0")
        steps = [message["params"]["message"] for message in client.heard if message.get("method") == "notifications/progress"]
        fetched = web.counted(".bundle")
        bench.says(f"2.0.0 is written {pi.seconds() - began:.0f} s after the call, with {len(steps)} reports of progress: {steps[0]} ... {steps[-1]}")
        bench.check("more than one report", len(steps) > 1, True)
        bench.says(f"fetched {fetched / 1e6:.2f} MB of a bundle of {full / 1e6:.2f} MB: {100 * fetched / full:.1f} %")
        bench.check("less than half of it", fetched < full / 2, True)
        client = bench.ended("2.0.0", "committed", "B")
        bench.check("what it had is there", kept(client, photo), had)

        client.call("manage.rollback")
        client = bench.ended(first, "committed", "A")
        bench.check("what it had is there", kept(client, photo), had)

        bench.offer("3.0.0", 3, space, "ci/image.d/bad")
        client.call("manage.update_server", target_version="3.0.0")
        bench.says("3.0.0 is written")
        client = bench.ended("3.0.0", "rolled_back", "A")
        bench.check("what it had is there", kept(client, photo), had)
        pi.cut_power()


def kept(client, photo):
    """What an owner would miss."""
    taken = client.call("camera.get_photo", name=photo)
    log = client.call("logs.get_recent_audit_logs", limit=100)["entries"]
    calls = [entry for entry in log if entry["tool"] == "camera.take_photo"]
    return {"name": client.call("system.get_basic_info")["hostname"], "photo": taken["size_bytes"], "calls": len(calls)}
