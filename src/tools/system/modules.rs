//! What this machine has that tools could use: a table of probes.

use crate::machine::Machine;

/// What a probe found.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// The devices or sources; never empty.
    pub devices: Vec<String>,
}

/// One row: what it is called, whose tools use it, how to find it. `Err` says why it is not there.
pub struct Module {
    pub name: &'static str,
    pub namespace: &'static str,
    pub probe: fn(&Machine) -> Result<Found, String>,
}

pub static MODULES: &[Module] = &[
    Module { name: "gpio", namespace: "gpio", probe: |machine| hardware(machine, "GPIO chip", gpio_chips(machine)) },
    // A pin's PWM is set by a tool of gpio.
    Module { name: "pwm", namespace: "gpio", probe: |machine| hardware(machine, "PWM chip", pwm_chips(machine)) },
    Module { name: "i2c", namespace: "i2c", probe: |machine| hardware(machine, "I2C bus", i2c_buses(machine)) },
    Module { name: "camera", namespace: "camera", probe: |machine| hardware(machine, "camera", cameras(machine)) },
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

/// Video devices that are parts of the processor and no camera (names of Raspberry Pi's kernel drivers).
const NO_CAMERAS: [&str; 5] = ["bcm2835-codec", "bcm2835-isp", "rpivid", "rpi-hevc-dec", "pispbe"];

fn hardware(machine: &Machine, what: &str, found: Vec<String>) -> Result<Found, String> {
    if machine.board.is_simulated() {
        // Real devices of this machine are not the simulated board's.
        return Err(format!("the board is simulated and has no {what} in this version"));
    }
    some(found, || format!("no {what} that the kernel knows"))
}

fn some(devices: Vec<String>, why_not: impl FnOnce() -> String) -> Result<Found, String> {
    if devices.is_empty() { Err(why_not()) } else { Ok(Found { devices }) }
}

fn devices(machine: &Machine, prefix: &str) -> Vec<String> {
    let names = machine.root.list("dev").unwrap_or_default();
    names.into_iter().filter(|name| numbered(name, prefix)).map(|name| format!("/dev/{name}")).collect()
}

fn numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Chips of the GPIO character device, each with the device it belongs to: the folder above it in sysfs
/// (Documentation/ABI/testing/gpio-cdev; its label takes an ioctl).
fn gpio_chips(machine: &Machine) -> Vec<String> {
    let owner = |device: &str| {
        let name = device.trim_start_matches("/dev/");
        let link = machine.root.link(&format!("sys/bus/gpio/devices/{name}")).ok()?;
        Some(link.parent()?.file_name()?.to_str()?.to_owned())
    };
    devices(machine, "gpiochip").into_iter().map(|device| called(&device, owner(&device))).collect()
}

/// PWM chips have no device files: programs use sysfs (Documentation/ABI/testing/sysfs-class-pwm).
fn pwm_chips(machine: &Machine) -> Vec<String> {
    let channels = |chip: &str| machine.root.number(&format!("{chip}/npwm")).ok().map(|n| format!("channels: {n}"));
    class(machine, "sys/class/pwm", "pwmchip").iter().map(|chip| called(chip, channels(chip))).collect()
}

/// A bus with the device file that programs open; the module i2c-dev makes it.
fn i2c_buses(machine: &Machine) -> Vec<String> {
    let adapter = |device: &str| {
        let name = device.trim_start_matches("/dev/");
        machine.root.line(&format!("sys/class/i2c-adapter/{name}/name")).ok()
    };
    devices(machine, "i2c-").into_iter().map(|device| called(&device, adapter(&device))).collect()
}

/// A device, and what it is called when the kernel tells.
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

fn cameras(machine: &Machine) -> Vec<String> {
    let name_of = |device: &str| {
        let name = device.trim_start_matches("/dev/");
        machine.root.line(&format!("sys/class/video4linux/{name}/name")).ok()
    };
    let is_camera =
        |name: &Option<String>| !name.as_ref().is_some_and(|name| NO_CAMERAS.iter().any(|part| name.starts_with(part)));
    let with_names = devices(machine, "video").into_iter().map(|device| (name_of(&device), device));
    with_names.filter(|(name, _)| is_camera(name)).map(|(name, device)| called(&device, name)).collect()
}

fn running(machine: &Machine, what: &str, place: &str) -> Result<Found, String> {
    if machine.root.has(place) {
        Ok(Found { devices: vec![format!("/{place}")] })
    } else {
        Err(format!("{what} does not run here (no /{place})"))
    }
}

fn temperature(machine: &Machine) -> Result<Found, String> {
    if machine.board.is_simulated() {
        return Ok(Found { devices: vec!["simulated".into()] });
    }
    let sensors = |folder: &str, prefix: &str, label: &str| -> Vec<String> {
        let name = |sensor: &str| machine.root.line(&format!("{sensor}/{label}")).ok();
        class(machine, folder, prefix).iter().map(|sensor| called(sensor, name(sensor))).collect()
    };
    let mut found = sensors("sys/class/thermal", "thermal_zone", "type");
    found.extend(sensors("sys/class/hwmon", "hwmon", "name"));
    some(found, || "no thermal zone and no hardware monitor".into())
}

fn throttling(machine: &Machine) -> Result<Found, String> {
    let source = machine.firmware.source().map(str::to_owned);
    some(source.into_iter().collect(), || "no way to ask a Raspberry Pi firmware".into())
}
