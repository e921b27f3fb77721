"""Arguments for every tool: those of the table, or the smallest that its schema takes."""

import glob
import json
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# These have an owner's configuration of their own: routers, agents, a fleet.
ELSEWHERE = {"routeros", "agents", "fleet", "compat"}
# What ends the run, or asks a person and waits.
NOT_HERE = {"manage.halt"}

CHIP = {"bus": 1, "address": 80}
ARGUMENTS = {
    "tools.describe": {"names": ["system.reboot"]},
    "tools.run": {"name": "system.get_clock", "arguments": "{}"},
    "tools.run_read": {"name": "system.get_clock", "arguments": "{}"},
    "tools.search": {"query": "restart"},
    "process.get_process_details": {"pid": os.getpid()},
    "process.send_signal": {"pid": 4242, "signal": "HUP"},
    "exec.run": {"command": "echo", "args": ["soak"]},
    "metrics.start_sampling_job": {"interval_seconds": 60, "dry_run": True},
    "metrics.stop_sampling_job": {"job_id": "soak"},
    "metrics.get_samples": {"job_id": "soak"},
    "metrics.query_history": {"metric_names": ["cpu_percent"], "start_time": "2010-01-01T00:00:00Z", "resolution": "30d"},
    "network.activate_connection": {"connection": "simulated-static", "dry_run": True},
    "network.confirm_connection": {"keep": False},
    "network.add_connection": {"connection": "soak", "ssid": "simulated", "activate": False, "dry_run": True},
    "network.update_connection": {"connection": "simulated-wifi", "passphrase": "soak soak", "dry_run": True},
    "onewire.read": {"address": "28-0000075bcd15"},
    "serial.open": {"port": "ttyAMA0"},
    "serial.read": {"port": "ttyAMA0", "timeout_ms": 0},
    "serial.write": {"port": "ttyAMA0", "text": "soak"},
    "serial.close": {"port": "ttyAMA0"},
    "network.ping": {"address": "127.0.0.1", "count": 1},
    "i2c.scan_bus": {"bus": 1},
    "i2c.read": CHIP | {"length": 1},
    "i2c.write": CHIP | {"data": [0]},
    "i2c.transfer": CHIP | {"data": [0], "length": 1},
    "i2c.identify": CHIP,
    "gpio.read_pin": {"pin": 17},
    "gpio.release_pin": {"pin": 17},
    "gpio.wait_for_edge": {"pin": 23, "timeout_ms": 1},
    "gpio.configure_pin": {"pin": 17, "mode": "output"},
    "gpio.set_pwm": {"pin": 18, "frequency_hz": 1000, "duty_cycle_percent": 50},
    "gpio.write_pin": {"pin": 17, "value": "high"},
    "camera.capture": {"width": 320, "height": 180},
    "camera.take_photo": {"resolution": "640x480"},
    "camera.get_photo": {"name": "20260101T000000000Z-00000000.jpg"},
    "files.write": {"path": "soak.txt", "content": "soak", "overwrite": True},
    "vector.search": {"query": "pump"},
    "system.reboot": {"cancel": True},
    "system.shutdown": {"cancel": True},
    "system.set_hostname": {"hostname": "soak", "dry_run": True},
    "system.set_timezone": {"timezone": "UTC", "dry_run": True},
}

# What this board answers to some of them, however well it is: it has no update server, no journal, no network of its own.
EXPECTED = {
    "camera.get_photo": {"not_found"},
    "files.delete": {"not_found"},
    "files.read": {"not_found"},
    "logs.query_journal": {"capability_missing"},
    "manage.apply_os_updates": {"not_found"},
    "manage.check_for_updates": {"failed_precondition"},
    "manage.mark_good": {"failed_precondition"},
    "manage.preview_os_updates": {"failed_precondition"},
    # Beyond four restarts within an hour.
    "manage.rollback": {"failed_precondition", "conflict", "resource_exhausted"},
    # Another client's is under way, or another client rolls back meanwhile.
    "manage.update_server": {"failed_precondition", "conflict", "cancelled"},
    "metrics.get_samples": {"not_found"},
    "metrics.stop_sampling_job": {"not_found"},
    "network.list_connections": {"capability_missing"},
    "network.ping": {"capability_missing"},
    # One port for all clients, which one of them may just have closed.
    "serial.read": {"failed_precondition"},
    "serial.write": {"failed_precondition"},
    "service.get_status": {"capability_missing"},
    "service.list_services": {"capability_missing"},
    "service.validate_unit_file": {"capability_missing"},
    "system.shutdown": {"conflict"},
    "vector.rebuild": {"permission_denied"},
}


def smallest(schema):
    """The smallest value that a schema takes."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        given = schema.get("properties", {})
        return {name: smallest(given[name]) for name in schema.get("required", [])}
    if kind == "array":
        return [smallest(schema["items"])] * schema.get("minItems", 0)
    if kind in ("integer", "number"):
        return schema.get("minimum", 0)
    if kind == "boolean":
        return False
    return (schema.get("examples") or ["a" * max(1, schema.get("minLength", 1))])[0]


def every():
    """Name, arguments and whether it writes, of every tool of the contract."""
    found = []
    for path in sorted(glob.glob(f"{ROOT}/schemas/*/*.json")):
        with open(path) as f:
            tool = json.load(f)
        name, namespace = tool["name"], tool["name"].split(".")[0]
        if namespace in ELSEWHERE or name in NOT_HERE or not path.endswith(f"{name.replace('.', '/')}.json"):
            continue
        arguments = dict(ARGUMENTS.get(name, smallest(tool["inputSchema"])))
        if namespace == "service" and "service_name" in arguments:
            arguments["service_name"] = "web"
        found.append((name, arguments, not tool["annotations"]["readOnlyHint"]))
    return found
