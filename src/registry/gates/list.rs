//! The list of what a namespace may reach, as one of the gates.

use super::{Gate, Opener, command};
use crate::{
    registry::{entry::Entry, refusal::Named},
    services::Services,
};
use agent::units::allow;
use base::{
    error::ToolError,
    os::{glob::Glob, systemd::ServiceName},
};
use contract::{
    access::{caller::Caller, policy::Policy, reach::Reach},
    values::{I2cAddress, Pin},
};
use hw::i2c::I2cAccessKind;
use serde_json::Value;

/// The list of what the namespace may reach, where the call names something of it.
/// `judged` is the refusal of the tool itself, where it was asked.
pub(super) fn list(
    services: &Services,
    policy: &Policy,
    entry: &Entry,
    caller: &Caller,
    named: &Named,
    judged: Option<&ToolError>,
) -> Option<Gate> {
    let number = |name: &str| named.resources.get(name).and_then(Value::as_u64);
    let reach = policy.reach(&entry.meta(), caller);
    // What the configuration lists counts for the caller, or the grant is too narrow.
    let told = |what: String, list: &str| match reach.check_listed(&what) {
        Ok(()) => format!("{what} is not in {list}"),
        Err(narrow) => narrow.message.clone(),
    };
    let (by, closed) = match entry.meta().namespace() {
        "gpio" => {
            let pin = Pin::try_from(number("pin")?).ok()?;
            let rules = &services.gpio.rules;
            let never = pin.is_reserved() || rules.keeps(pin);
            let open = reach.listed && rules.allows(pin) || !never && reach.has_pin(pin.bcm());
            let opener = if never { Opener::Nobody } else { Opener::Allow };
            ("gpio.allow", (!open).then(|| (told(format!("GPIO {}", pin.bcm()), "gpio.allow"), opener)))
        }
        "i2c" => {
            let bus = u32::try_from(number("bus")?).ok()?;
            if entry.name() == "i2c.scan_bus" {
                let listed = reach.listed && !services.i2c.allow().on(bus).readable.is_empty();
                let open = listed || !reach.addresses(bus).is_empty();
                let closed = (!open).then(|| (told(format!("I2C bus {bus}"), "i2c.buses"), Opener::Allow));
                return Some(Gate { name: "list", by: "i2c.buses".into(), closed });
            }
            let address = I2cAddress::new(u8::try_from(number("address")?).ok()?)?;
            let want = if entry.meta().effect.is_write() { I2cAccessKind::Write } else { I2cAccessKind::Read };
            let listed = reach.listed && services.i2c.allow().check(bus, address, want).is_ok();
            let open = listed || reach.addresses(bus).holds(address);
            ("i2c.buses", (!open).then(|| (told(format!("{address} on I2C bus {bus}"), "i2c.buses"), Opener::Allow)))
        }
        "spi" | "serial" => device_file(services, policy, entry, caller, named, told)?,
        "service" => {
            let name = ServiceName::parse(named.resources.get("service_name")?.as_str()?).ok()?;
            let unit = name.as_str();
            let listed = services.machine.board.is_simulated()
                || allow::check(&services.settings.service.allow, &[unit.to_owned()], "").is_ok();
            let open = !entry.meta().effect.is_write() || reach.listed && listed || reach.has_unit(unit);
            ("service.allow", (!open).then(|| (told(unit.to_owned(), "service.allow"), Opener::Allow)))
        }
        "camera" if entry.meta().effect.is_write() => ("camera.allow", camera(services, &reach, named, judged)?),
        // Where policy refused, the tool was not asked.
        "files" => {
            let judged = judged.filter(|error| !error.details.contains_key("decided_by"))?;
            ("files.roots", folder(named, entry, judged))
        }
        _ => return None,
    };
    Some(Gate { name: "list", by: by.into(), closed })
}

type Closed = Option<(String, Opener)>;

/// The list of SPI devices or of serial ports, where the call opens or writes one.
fn device_file(
    services: &Services,
    policy: &Policy,
    entry: &Entry,
    caller: &Caller,
    named: &Named,
    told: impl FnOnce(String, &str) -> String,
) -> Option<(&'static str, Closed)> {
    let device = command::device_file(named, entry)?;
    let (by, listed) = match entry.name() {
        "spi.transfer" => {
            let number = |name: &str| u32::try_from(named.resources.get(name)?.as_u64()?).ok();
            let numbers = number("bus").zip(number("chip_select"))?;
            ("spi.devices", services.spi.allow().speed(numbers).is_some())
        }
        "serial.open" => ("serial.ports", services.serial.allow().on(&device).0),
        _ => ("serial.ports", services.serial.allow().on(&device).1),
    };
    // What may be written may be opened.
    let tools: &[&str] = if entry.name() == "serial.open" { &["serial.open", "serial.write"] } else { &[entry.name()] };
    let granted =
        |tool: &&str| policy.grants(tool, Some(&caller.principal)).any(|grant| grant.has_device_file(&device));
    let listed = listed && policy.reach(&entry.meta(), caller).listed;
    let open = listed || tools.iter().any(granted);
    Some((by, (!open).then(|| (format!("{} for this tool", told(device, by)), Opener::Allow))))
}

/// `None`: only a look at the cameras there are can tell, since a list names them also by their names and places.
fn camera(services: &Services, reach: &Reach, named: &Named, judged: Option<&ToolError>) -> Option<Closed> {
    let camera = named.resources.get("camera").and_then(Value::as_str);
    let listed = services.cameras.allowed().iter().filter(|_| reach.listed);
    let patterns: Vec<&String> = listed.chain(reach.cameras()).collect();
    let fits = |camera: &str| patterns.iter().any(|pattern| Glob::of_bytes(pattern).fits(camera));
    if patterns.is_empty() || judged.is_some_and(|error| error.details.contains_key("camera_allowed")) {
        return Some(Some((
            format!("camera {} is not in camera.allow", command::quoted(camera.unwrap_or("*"))),
            Opener::Allow,
        )));
    }
    camera.is_none_or(fits).then_some(None)
}

/// Whether the tool found no root for the path, or one that is read-only.
fn folder(named: &Named, entry: &Entry, judged: &ToolError) -> Closed {
    let outside = judged.details.contains_key("roots") || judged.details.get("writable") == Some(&Value::Bool(false));
    let opener = if command::folder(named, entry).is_some() { Opener::Allow } else { Opener::Owner };
    outside.then(|| ("no root of files.roots has it for this tool".to_owned(), opener))
}
