"""GPIO, a camera and a service are used through MCP, and the machine gets another name and time zone, which it keeps.

Neither root nor boot partition of any slot is written."""

from image import slots

SHORT = True
# Longer than the one of raspi-mcp.toml.
NAME = "porch-of-ann-and-bob"
ZONE = "Asia/Kolkata"


def story(bench):
    card = bench.owned()
    before = slots(card)
    with bench.power_on(card) as pi:
        client = bench.answers()
        # An emulated camera takes its time.
        client.patience = 120
        gpio(bench, client)
        photo(bench, client)
        service(bench, client)
        renamed(bench, client)
        zoned(bench, client)
        pi.cut_power()
    with bench.power_on(card) as pi:
        client = bench.answers()
        bench.check("its name after the power was cut", name(client), NAME)
        bench.check("its time zone, too", zone(client), (ZONE, 19800))
        pi.cut_power()
    bench.check("hashes of both slots' partitions changed", [name for name, sum in slots(card).items() if sum != before[name]], [])


def gpio(bench, client):
    client.call("gpio.configure_pin", pin=17, mode="output")
    client.call("gpio.write_pin", pin=17, value=1)
    bench.check("GPIO 17, set to 1, reads", client.call("gpio.read_pin", pin=17)["value"], "high")
    client.call("gpio.release_pin", pin=17)


def photo(bench, client):
    camera = client.call("camera.list_cameras")["cameras"][0]
    taken = client.call("camera.take_photo", format="jpeg")
    bench.says(f"a photo by {camera['name']}: {taken['width']} x {taken['height']}, {taken['size_bytes']} bytes")


def service(bench, client):
    status = lambda: client.call("service.get_status", service_name="bench-lamp.service")
    before = status()
    client.call("service.restart", service_name="bench-lamp.service")
    after = status()
    pids = [status["pid"] for status in (before, after)]
    bench.says(f"a service is restarted: process {pids[0]} before, {pids[1]} after")
    bench.check("it is another process", pids[0] != pids[1], True)


def renamed(bench, client):
    before = name(client)
    answer = client.call("system.set_hostname", hostname=NAME)
    bench.check("the name before, as the call says", answer["previous_hostname"], before)
    # As who reaches it by that name, which is in no certificate and in no file of settings.
    client.more["Host"] = f"{NAME}.local:8443"
    bench.check("the name after", name(client), NAME)


def name(client):
    return client.call("system.get_basic_info")["hostname"]


def zoned(bench, client):
    bench.check("the time zone of a new card", zone(client), ("UTC", 0))
    answer = client.call("system.set_timezone", timezone=ZONE)
    bench.check("the time zone before, as the call says", answer["previous_timezone"], "UTC")
    bench.check("the time zone and its offset at once", zone(client), (ZONE, 19800))


def zone(client):
    clock = client.call("system.get_clock")
    return clock["timezone"], clock["utc_offset_seconds"]
