//! Hardware that tools could use: a table of probes.

use hw::{
    devices::{DeviceFile, Devices},
    i2c::{I2cAdapter, I2cPort},
    machine::Machine,
};

/// The result of a probe.
#[derive(Debug, PartialEq, Eq)]
pub struct ProbeResult {
    /// The devices or sources; never empty.
    pub devices: Vec<String>,
}

/// One row: name, namespace of its tools, and probe. `Err` says why it is missing.
pub struct Module {
    pub name: &'static str,
    pub namespace: &'static str,
    pub probe: fn(&Machine) -> Result<ProbeResult, String>,
}

pub static MODULES: &[Module] = &[
    Module { name: "gpio", namespace: "gpio", probe: |machine| hardware(machine, "GPIO chip", |all| all.gpio) },
    // PWM on a pin is set by a tool of gpio.
    Module { name: "pwm", namespace: "gpio", probe: |machine| hardware(machine, "PWM chip", |all| all.pwm) },
    Module { name: "i2c", namespace: "i2c", probe: i2c },
    Module { name: "camera", namespace: "camera", probe: cameras },
    Module {
        name: "systemd",
        namespace: "service",
        probe: |machine| running(machine, "systemd", "run/systemd/system"),
    },
    Module {
        name: "network_manager",
        namespace: "network",
        probe: |machine| running(machine, "NetworkManager", "run/NetworkManager"),
    },
    Module { name: "temperature", namespace: "system", probe: temperature },
    Module { name: "throttling", namespace: "system", probe: throttling },
];

fn hardware(machine: &Machine, what: &str, which: fn(Devices) -> Vec<DeviceFile>) -> Result<ProbeResult, String> {
    if machine.board.is_simulated() {
        // The simulated board has everything; real devices of this machine do not count.
        return Ok(ProbeResult { devices: vec!["simulated".into()] });
    }
    let found = which(Devices::read(&machine.root));
    some(found.iter().map(DeviceFile::described).collect(), || format!("no {what} that the kernel knows"))
}

fn i2c(machine: &Machine) -> Result<ProbeResult, String> {
    let Some(board) = &machine.board.simulated else { return hardware(machine, "I2C bus", |all| all.i2c) };
    let called = |bus: I2cAdapter| called(&format!("/dev/i2c-{}", bus.number), bus.name);
    some(board.i2c.buses().into_iter().map(called).collect(), || "no I2C bus on this simulated board".into())
}

fn cameras(machine: &Machine) -> Result<ProbeResult, String> {
    let Some(board) = &machine.board.simulated else {
        return hardware(machine, "camera", |all| all.video.into_iter().filter(DeviceFile::is_camera).collect());
    };
    let called = board.camera.named().into_iter().map(|(id, name)| called(&id, Some(name)));
    some(called.collect(), || "no camera on this simulated board any more".into())
}

fn some(devices: Vec<String>, why_not: impl FnOnce() -> String) -> Result<ProbeResult, String> {
    if devices.is_empty() { Err(why_not()) } else { Ok(ProbeResult { devices }) }
}

fn numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|number| number.parse::<u32>().is_ok())
}

/// A device with its name, if the kernel reports one.
fn called(device: &str, name: Option<String>) -> String {
    match name {
        Some(name) if !name.is_empty() => format!("{device} ({name})"),
        _ => device.to_owned(),
    }
}

/// The numbered devices of a class in sysfs.
fn class(machine: &Machine, folder: &str, prefix: &str) -> Vec<String> {
    let names = machine.root.list(folder).unwrap_or_default();
    names.into_iter().filter(|name| numbered(name, prefix)).map(|name| format!("/{folder}/{name}")).collect()
}

fn running(machine: &Machine, what: &str, place: &str) -> Result<ProbeResult, String> {
    if machine.root.has(place) {
        Ok(ProbeResult { devices: vec![format!("/{place}")] })
    } else {
        Err(format!("{what} does not run here (no /{place})"))
    }
}

fn temperature(machine: &Machine) -> Result<ProbeResult, String> {
    if machine.board.is_simulated() {
        return Ok(ProbeResult { devices: vec!["simulated".into()] });
    }
    let sensors = |folder: &str, prefix: &str, label: &str| -> Vec<String> {
        let name = |sensor: &str| machine.root.line(&format!("{sensor}/{label}")).ok();
        class(machine, folder, prefix).iter().map(|sensor| called(sensor, name(sensor))).collect()
    };
    let mut found = sensors("sys/class/thermal", "thermal_zone", "type");
    found.extend(sensors("sys/class/hwmon", "hwmon", "name"));
    some(found, || "no thermal zone and no hardware monitor".into())
}

fn throttling(machine: &Machine) -> Result<ProbeResult, String> {
    let source = machine.firmware.source().map(str::to_owned);
    some(source.into_iter().collect(), || "no way to ask a Raspberry Pi firmware".into())
}
