//! The table of all actions, and of the actions of each tool.

use super::Does;
use serde_json::Value;

/// Every action with its description.
pub const ACTIONS: &[(&str, &str)] = &[
    ("agents:send_task", "give an agent a task, which is also a call of a tool"),
    ("agents:shutdown", "end an agent"),
    ("agents:spawn", "start an agent that the owner declared"),
    ("camera:capture", "take a picture"),
    ("camera:view", "view a stored picture"),
    ("exec:run", "run a listed command; what the command does is not examined"),
    ("files:delete", "delete a file"),
    ("files:list", "list the names of files"),
    ("files:read", "read a file"),
    ("files:write", "write a file"),
    ("gpio:configure", "configure a pin as an input or an output"),
    ("gpio:drive", "set the level of a pin"),
    ("gpio:pwm", "output a PWM signal on a pin"),
    ("gpio:read", "read or watch a pin"),
    ("gpio:release", "release a pin, which returns to its safe state"),
    ("i2c:read", "read from a device; with `register`, that byte is sent first"),
    ("i2c:scan", "scan a bus for devices"),
    ("i2c:write", "write to a device"),
    ("logs:app", "read this server's log"),
    ("logs:audit", "read the audit log"),
    ("logs:journal", "read the system's journal"),
    ("manage:halt", "halt the machine: refuse every change until a person lifts it"),
    ("metrics:start", "start a sampling job"),
    ("metrics:stop", "stop a sampling job"),
    ("network:activate", "activate a connection"),
    ("network:add", "add a connection, and activate it"),
    ("network:confirm", "keep or revert a changed connection"),
    ("network:scan", "scan for Wi-Fi networks"),
    ("network:update", "change a connection, its passphrase too, and activate it anew"),
    ("onewire:read", "read a 1-Wire device"),
    ("process:inspect", "show the details of a process"),
    ("process:signal", "send a signal to a process"),
    ("sensors:read", "read sensors that the kernel has drivers for"),
    ("serial:close", "close a serial port"),
    ("serial:open", "open a serial port"),
    ("serial:read", "read what has arrived at an open serial port"),
    ("serial:write", "write to an open serial port"),
    ("service:disable", "disable the start of a service at boot"),
    ("service:enable", "enable the start of a service at boot"),
    ("service:reload", "make a service reload its configuration"),
    ("service:restart", "restart a service"),
    ("service:start", "start a service; a restart also starts a stopped one"),
    ("service:stop", "stop a service"),
    ("spi:transfer", "exchange bytes with an SPI device"),
    ("system:health", "read how the machine is: load, memory, disks, temperature, power, traffic"),
    ("system:mark_good", "commit the version on trial"),
    ("system:reboot", "restart the device, as an update and a rollback also do"),
    ("system:rollback", "end an update, or return to the previous version"),
    ("system:set_hostname", "set the host name of the device"),
    ("system:set_timezone", "set the time zone of the device"),
    ("system:shutdown", "shut the device down"),
    ("system:update", "install another version"),
    ("vector:rebuild", "index files anew"),
];

/// The actions of each tool. A tool that is listed neither here nor in [`super::SHOWS`] only returns what every caller may
/// know.
pub const DOES: &[Does] = &[
    // Each task is a call of its own as well, which is judged.
    does("agents.send_task", &["agents:send_task"]),
    repairs("agents.shutdown", &["agents:shutdown"]),
    does("agents.spawn", &["agents:spawn"]),
    does("camera.capture", &["camera:capture"]),
    does("camera.take_photo", &["camera:capture"]),
    reads("camera.get_photo", &["camera:view"]),
    does("exec.run", &["exec:run"]),
    does("files.delete", &["files:delete"]),
    reads("files.list", &["files:list"]),
    reads("files.read", &["files:read"]),
    does("files.write", &["files:write"]),
    Does {
        also: &["gpio:drive"],
        kinds: &[&["gpio:configure"], &["gpio:configure", "gpio:drive"]],
        kind: |args| word(args, "mode", &["input", "output"]),
        ..does("gpio.configure_pin", &["gpio:configure"])
    },
    Does { also: &["gpio:read"], ..reads("gpio.list_pins", &[]) },
    reads("gpio.read_pin", &["gpio:read"]),
    repairs("gpio.release_pin", &["gpio:release"]),
    Does { also: &["gpio:drive"], ..does("gpio.set_pwm", &["gpio:pwm"]) },
    reads("gpio.wait_for_edge", &["gpio:read"]),
    does("gpio.write_pin", &["gpio:drive"]),
    reads("i2c.identify", &["i2c:read"]),
    reads("i2c.read", &["i2c:read"]),
    reads("i2c.scan_bus", &["i2c:scan"]),
    Does {
        also: &["i2c:read"],
        kinds: &[&["i2c:read"], &["i2c:write", "i2c:read"]],
        kind: |args| args["data"].as_array().map(|data| usize::from(!data.is_empty())),
        ..does("i2c.transfer", &["i2c:write"])
    },
    does("i2c.write", &["i2c:write"]),
    reads("logs.get_recent_app_logs", &["logs:app"]),
    reads("logs.get_recent_audit_logs", &["logs:audit"]),
    reads("logs.query_journal", &["logs:journal"]),
    Does { also: &["system:reboot"], ..repairs("manage.apply_os_updates", &["system:update"]) },
    repairs("manage.halt", &["manage:halt"]),
    repairs("manage.mark_good", &["system:mark_good"]),
    Does { also: &["system:reboot"], ..repairs("manage.rollback", &["system:rollback"]) },
    Does { also: &["system:reboot"], ..repairs("manage.update_server", &["system:update"]) },
    Does { also: &["system:health"], ..reads("metrics.get_realtime_metrics", &[]) },
    does("metrics.start_sampling_job", &["metrics:start"]),
    does("metrics.stop_sampling_job", &["metrics:stop"]),
    does("network.activate_connection", &["network:activate"]),
    does("network.add_connection", &["network:add"]),
    repairs("network.confirm_connection", &["network:confirm"]),
    reads("network.scan_wifi", &["network:scan"]),
    does("network.update_connection", &["network:update"]),
    reads("onewire.read", &["onewire:read"]),
    reads("process.get_process_details", &["process:inspect"]),
    does("process.send_signal", &["process:signal"]),
    reads("sensors.read", &["sensors:read"]),
    repairs("serial.close", &["serial:close"]),
    does("serial.open", &["serial:open"]),
    reads("serial.read", &["serial:read"]),
    does("serial.write", &["serial:write"]),
    Does {
        kinds: &[&["service:start"], &["service:stop"], &["service:restart", "service:start"], &["service:reload"]],
        kind: |args| word(args, "action", &["start", "stop", "restart", "reload"]),
        ..does("service.control_service", &["service:start", "service:stop", "service:restart", "service:reload"])
    },
    // A restart by systemd also starts a stopped unit.
    Does { also: &["service:start"], ..does("service.restart", &["service:restart"]) },
    Does {
        kinds: &[&["service:disable"], &["service:enable"]],
        kind: |args| args["enabled"].as_bool().map(usize::from),
        ..does("service.set_enabled", &["service:enable", "service:disable"])
    },
    does("service.start", &["service:start"]),
    does("service.stop", &["service:stop"]),
    does("spi.transfer", &["spi:transfer"]),
    reads("system.get_health_snapshot", &["system:health"]),
    does("system.reboot", &["system:reboot"]),
    does("system.set_hostname", &["system:set_hostname"]),
    does("system.set_timezone", &["system:set_timezone"]),
    does("system.shutdown", &["system:shutdown"]),
    // Does nothing itself: the call that it carries is judged.
    repairs("tools.run", &[]),
    does("vector.rebuild", &["vector:rebuild"]),
];

/// A tool that changes something.
const fn does(tool: &'static str, own: &'static [&'static str]) -> Does {
    Does { tool, own, also: &[], halts: true, kinds: &[], kind: |_| None }
}

/// A tool that changes nothing.
const fn reads(tool: &'static str, own: &'static [&'static str]) -> Does {
    Does { halts: false, ..does(tool, own) }
}

/// A tool that makes the machine safe or repairs it, so that a halt never stops it.
const fn repairs(tool: &'static str, own: &'static [&'static str]) -> Does {
    Does { halts: false, ..does(tool, own) }
}

/// The index in `words` of the argument `name`.
fn word(args: &Value, name: &str, words: &[&str]) -> Option<usize> {
    let given = args[name].as_str()?;
    words.iter().position(|word| *word == given)
}
