"""A day's calls of every tool, on a card of `./ci/image --bench`. Each function is a group of calls in order: it yields the tool, its
arguments and, if an error is expected from this machine, its code; it receives the structured result of each."""

LAMP = {"service_name": "bench-lamp.service"}
CHIP = {"bus": 0, "address": 0x48}
# Does not exist.
NO_PLAN = {"plan_id": "nobody-s", "plan_hash": "0" * 64}


def system(day):
    yield "system.get_basic_info", {}
    yield "system.get_health_snapshot", {}
    yield "system.get_capabilities", {}
    yield "system.get_clock", {}
    yield "system.get_network_info", {}
    yield "system.get_detailed_network_info", {"include_routing_table": True, "include_connections": True}
    software = yield "system.list_packages", {"name": "systemd"}
    day.saw("packages with systemd in their name", software["pagination"]["total_count"])
    yield "system.list_devices", {}
    yield "system.set_timezone", {"timezone": "Europe/Berlin", "dry_run": True}
    yield "system.set_timezone", {"timezone": ("Europe/London", "UTC")[day.number % 2]}
    yield "system.set_hostname", {"hostname": f"day-{day.number}", "dry_run": True}
    yield "system.set_hostname", {"hostname": "bench"}


def metrics(day):
    """A job for each day; its samples until the next day are read then."""
    yield "metrics.get_realtime_metrics", {}
    yield "metrics.start_sampling_job", {"job_id": f"day-{day.number}", "interval_seconds": 5}
    jobs = [job["job_id"] for job in (yield "metrics.list_sampling_jobs", {})["jobs"]]
    samples = (yield "metrics.get_samples", {"job_id": jobs[0]})["samples"]
    yesterday = f"day-{day.number - 1}"
    if yesterday in jobs:
        samples = (yield "metrics.get_samples", {"job_id": yesterday})["samples"]
        day.saw("samples of the day before", len(samples))
        yield "metrics.stop_sampling_job", {"job_id": yesterday, "discard_samples": True}
    else:
        yield "metrics.stop_sampling_job", {"job_id": f"day-{day.number}", "dry_run": True}
    yield "metrics.query_history", {"metric_names": ["cpu_usage_percent", "memory_used_bytes"], "start_time": f"{day.began:%FT%TZ}"}


def network(day):
    yield "network.get_status", {}
    connections = (yield "network.list_connections", {"active_only": True})["connections"]
    wired = next(one for one in connections if one["type"] == "802-3-ethernet")
    # The active connection again: it is the only way to reach this machine.
    yield "network.activate_connection", {"connection": wired["uuid"], "confirm_seconds": 120}
    yield "network.confirm_connection", {}
    yield "network.ping", {"address": "10.0.2.2", "count": 1}
    spare = {"connection": f"spare-{day.number}", "ipv4": "192.0.2.7/24", "autoconnect": False, "activate": False}
    yield "network.add_connection", spare
    yield "network.update_connection", {"connection": spare["connection"], "dns": ["192.0.2.1"]}
    # Its radios are there for the stories of Wi-Fi only.
    yield "network.scan_wifi", {}, "capability_missing"


def services(day):
    yield "service.list_services", {}
    yield "service.validate_unit_file", LAMP
    yield "service.control_service", LAMP | {"action": "restart"}
    yield "service.restart", LAMP
    pid = (yield "service.get_status", LAMP)["pid"]
    yield "process.list_processes", {"detail": True}
    yield "process.get_process_details", {"pid": pid, "memory_maps": True}
    yield "process.send_signal", {"pid": pid, "signal": "TERM"}
    yield "service.stop", LAMP
    yield "service.start", LAMP
    yield "service.set_enabled", LAMP | {"enabled": False, "dry_run": True}
    # The image decides which services start: /etc is read-only for systemd.
    yield "service.set_enabled", {"service_name": "bench-tidy.service", "enabled": True}, "failed_precondition"


def cameras(day):
    yield "camera.list_cameras", {}
    photo = yield "camera.take_photo", {"resolution": "640x480"}
    yield "camera.get_photo", {"name": photo["name"]}
    yield "camera.capture", {"width": 640, "height": 480}


def manage(day):
    yield "manage.get_server_status", {}
    yield "manage.get_capabilities", {}
    yield "manage.get_update_status", {}
    yield "manage.export_settings", {}
    yield "manage.check_for_updates", {}
    yield "manage.preview_os_updates", {}, "failed_precondition"
    yield "manage.apply_os_updates", NO_PLAN, "not_found"
    yield "manage.update_server", {"target_version": "9.9.9"}, "failed_precondition"
    yield "manage.rollback", {"dry_run": True}
    yield "manage.mark_good", {}
    # Nobody at this machine would lift it.
    yield "manage.halt", {"reason": ""}, "invalid_argument"


def logs(day):
    yield "logs.get_recent_app_logs", {}
    yield "logs.get_recent_audit_logs", {"limit": 200}
    yield "logs.query_journal", {"limit": 200}


def files(day):
    name = f"diary/{day.number}.txt"
    yield "files.write", {"path": name, "content": f"{day.began}\n" * 1000, "mkdirs": True}
    yield "files.read", {"path": name}
    yield "files.list", {"recursive": True}
    yield "files.delete", {"path": name}


def commands(day):
    yield "exec.run", {"command": "date", "args": ["-u"]}


def pins(day):
    yield "gpio.list_pins", {}
    yield "gpio.configure_pin", {"pin": 17, "mode": "output"}
    yield "gpio.write_pin", {"pin": 17, "value": 1}
    yield "gpio.read_pin", {"pin": 17}
    yield "gpio.release_pin", {"pin": 17}
    yield "gpio.set_pwm", {"pin": 18, "frequency_hz": 10, "duty_cycle_percent": 50}
    yield "gpio.release_pin", {"pin": 18}
    yield "gpio.configure_pin", {"pin": 18, "mode": "input"}
    yield "gpio.wait_for_edge", {"pin": 18, "timeout_ms": 100}
    yield "gpio.release_pin", {"pin": 18}


def buses(day):
    yield "i2c.list_buses", {}
    yield "i2c.scan_bus", {"bus": 0}
    yield "i2c.write", CHIP | {"register": 1, "data": [day.number]}
    yield "i2c.read", CHIP | {"register": 1, "length": 1}
    yield "i2c.transfer", CHIP | {"data": [1], "length": 1}
    yield "spi.list_buses", {}
    yield "onewire.list_devices", {}
    yield "onewire.read", {"address": "28-000000000001"}, "not_found"
    yield "serial.list_ports", {}
    # No port is configured, so that none is open.
    yield "serial.read", {"port": "console"}, "failed_precondition"
    yield "i2c.identify", CHIP
    yield "sensors.list", {}
    yield "sensors.read", {}


def search(day):
    yield "tools.search", {"query": "restart"}
    yield "tools.describe", {"names": ["service.restart"]}
    yield "tools.run_read", {"name": "system.get_clock"}
    yield "tools.run", {"name": "system.get_clock", "arguments": {}}
    found = yield "vector.search", {"query": "restart a service"}
    day.saw("passages about restarting a service", len(found["matches"]))
    yield "vector.get_page", {}
    yield "vector.get_status", {}


def agents(day):
    # Nobody has configured one.
    yield "agents.list", {}
    yield "agents.get_status", {"agent_id": "nobody-s"}, "not_found"


def power(day):
    """Calls that are cancelled each time; those that are not come after all the others."""
    for tool in ("system.reboot", "system.shutdown"):
        yield tool, {"delay_seconds": 600}
        yield tool, {"cancel": True}


GROUPS = (system, metrics, network, services, cameras, manage, logs, files, commands, pins, buses, search, agents, power)
