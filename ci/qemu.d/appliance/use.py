"""GPIO, a camera and a service are used through MCP; neither root nor boot partition of any slot is written."""

from image import slots

SHORT = True


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
    bench.says(f"a photo by {camera.get('name')}: {taken}")


def service(bench, client):
    before = client.call("service.get_status", service_name="systemd-timesyncd.service")
    client.call("service.restart", service_name="systemd-timesyncd.service")
    after = client.call("service.get_status", service_name="systemd-timesyncd.service")
    bench.says(f"systemd-timesyncd: process {before.get('main_pid')} before, {after.get('main_pid')} after")
