//! `[[tools.allow]]`: tools that the owner opened one at a time, with what each may reach. `raspi-mcp allow` writes
//! them.
//!
//! A grant only adds: it opens its tool's namespace for that tool only, and the entries of its lists for that tool
//! only. `policy` and `tools.disable` take precedence.

use super::{files::is_grantable, serial::is_port};
use crate::{
    config::{
        found::{LocatedValue, UncheckedValue},
        kind::{Complaint, KnownTools, SettingKind},
        table_setting::TableSetting,
        words::{full_path, meant},
    },
    values::{Addresses, I2cAddress},
};
use base::os::glob::Glob;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeSet, path::Path};

/// One open tool, for whom and for what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub tool: String,
    /// Principals that may call it whatever their role. Empty: all callers with the role.
    #[serde(default, rename = "for", skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<String>,
    /// Broadcom numbers, 2 to 27.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub pins: BTreeSet<u8>,
    /// Services, with `*` and `?`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<String>,
    /// Cameras, with `*` and `?`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cameras: Vec<String>,
    /// I2C devices (`"1:0x48"`, `"1:0x50-0x57"`); for spi.* `"spidev0.1"`, for serial.* ports below /dev (`"ttyUSB0"`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// Folders of `files.*`, as full paths; they cannot be entered if any part of the path is a symbolic link.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Who granted it, for information.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// When, in UTC, for information.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at: String,
}

impl Grant {
    /// Whether it applies to `caller`; `None` stands for any caller with the role.
    pub fn is_for(&self, caller: Option<&str>) -> bool {
        self.callers.is_empty() || caller.is_some_and(|caller| self.callers.iter().any(|one| one == caller))
    }

    /// Whether it opens anything by itself, beyond what the configuration lists.
    pub fn names_something(&self) -> bool {
        let lists = [&self.units, &self.cameras, &self.devices, &self.paths];
        !self.pins.is_empty() || lists.iter().any(|list| !list.is_empty())
    }

    /// Whether it includes that unit, by its full name.
    pub fn has_unit(&self, unit: &str) -> bool {
        self.units.iter().any(|pattern| Glob::of_bytes(pattern).fits(unit))
    }

    /// Its devices on one bus.
    pub fn addresses(&self, bus: u32) -> Addresses {
        let of_bus = self.devices.iter().filter_map(|text| device(text)).filter(|(on, _)| *on == bus);
        of_bus.fold(Addresses::default(), |all, (_, addresses)| all.and(addresses))
    }

    /// Whether it includes that SPI device (`spidev0.1`) or serial port (`ttyUSB0`).
    pub fn has_device_file(&self, name: &str) -> bool {
        self.devices.iter().any(|device| device == name)
    }

    /// Whether it includes that device.
    pub fn has_device(&self, bus: u32, address: I2cAddress) -> bool {
        self.addresses(bus).holds(address)
    }
}

/// The parts of `"1:0x50-0x57"`.
fn device(text: &str) -> Option<(u32, Addresses)> {
    let (bus, addresses) = text.split_once(':')?;
    let bus = bus.parse().ok().filter(|bus| *bus <= super::i2c::HIGHEST_BUS)?;
    Some((bus, Addresses::parse(addresses).ok()?))
}

/// Whether it names an SPI device or a serial port, and could not be taken for a misspelt I2C device.
pub fn is_device_file(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && is_port(text)
}

/// Whether `text` is a principal.
pub fn is_caller(text: &str) -> bool {
    let plain = |rest: &str| (1..=128).contains(&rest.len()) && !rest.contains(|c: char| c.is_control() || c == '"');
    match text.split_once(':') {
        None => matches!(text, "stdio" | "loopback"),
        Some(("uid", number)) => number.parse::<u32>().is_ok(),
        Some(("token" | "jwt", name)) => plain(name),
        Some(_) => false,
    }
}

/// Maximum number of grants: more than there are tools, each for a few callers.
const MOST: usize = 256;
const LINE_BYTES: usize = 128;

/// `tools.allow`.
pub const GRANTS: TableSetting = TableSetting {
    key: "tools.allow",
    noun: "grant",
    most: MOST,
    named: false,
    secret: false,
    required: &["tool"],
    optional: &["for", "pins", "units", "cameras", "devices", "paths", "by", "at"],
    check_field,
    example: "\
#[[tools.allow]]
#tool = \"gpio.write_pin\"
#pins = [17]
#for = [\"token:laptop\"]
",
};

fn check_field(field: &str, found: &LocatedValue, tools: &KnownTools) -> Option<Result<Value, Complaint>> {
    Some(match (field, &found.value) {
        ("tool", UncheckedValue::Text(text)) if tools.iter().any(|(tool, _)| tool == text) => Ok(text.as_str().into()),
        ("tool", _) => {
            let text = if let UncheckedValue::Text(text) = &found.value { text.as_str() } else { "" };
            let near = meant(text, tools.iter().map(|(tool, _)| *tool));
            Err((found.at, format!("tools.allow.tool must be a tool of this version, not {}{near}", found.shown())))
        }
        ("for", _) => {
            let hint =
                "callers as the audit names them: \"token:NAME\", \"loopback\", \"stdio\", \"uid:1000\", \"jwt:NAME\"";
            texts(found, "tools.allow.for", hint, is_caller)
        }
        ("pins", _) => SettingKind::Pins.check_field("tools.allow.pins", found, tools),
        ("units", _) => SettingKind::Services.check_field("tools.allow.units", found, tools),
        ("cameras", _) => SettingKind::Cameras.check_field("tools.allow.cameras", found, tools),
        ("devices", _) => {
            let hint = "I2C devices as \"1:0x48\" or \"1:0x50-0x57\", SPI devices as \"spidev0.1\", serial ports as \"ttyUSB0\"";
            texts(found, "tools.allow.devices", hint, |text| device(text).is_some() || is_device_file(text))
        }
        ("paths", _) => {
            let hint = "full paths of folders like \"/srv/notes\", without \"..\" and apart from /etc, /run, /dev, /proc and /sys";
            texts(found, "tools.allow.paths", hint, |text| full_path(text) && is_grantable(Path::new(text)))
        }
        ("by" | "at", UncheckedValue::Text(text)) if text.len() <= LINE_BYTES && !text.contains(char::is_control) => {
            Ok(text.as_str().into())
        }
        ("by" | "at", _) => {
            Err((found.at, format!("tools.allow.{field} must be one line of at most {LINE_BYTES} bytes")))
        }
        _ => return None,
    })
}

fn texts(found: &LocatedValue, name: &str, what: &str, good: impl Fn(&str) -> bool) -> Result<Value, Complaint> {
    let UncheckedValue::List(items) = &found.value else {
        return Err((found.at, format!("{name} must be a list of {what}, not {}", found.shown())));
    };
    if items.len() > 64 {
        return Err((found.at, format!("{name} has {} entries; at most 64 are allowed", items.len())));
    }
    let one = |item: &LocatedValue| match item.good_text(&good) {
        Some(text) => Ok(Value::from(text)),
        None => Err((item.at, format!("{name} must be {what}; {} is none", item.shown()))),
    };
    items.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_are_named_as_in_the_audit() {
        for good in ["stdio", "loopback", "uid:0", "uid:1000", "token:laptop", "jwt:alice@example.org"] {
            assert!(is_caller(good), "{good}");
        }
        for bad in ["", "laptop", "uid:", "uid:x", "uid:-1", "token:", "root:1", "token:a\nb"] {
            assert!(!is_caller(bad), "{bad}");
        }
    }

    #[test]
    fn a_grant_holds_for_its_callers_and_its_devices() {
        let grant = Grant { callers: vec!["token:a".into()], devices: vec!["1:0x50-0x57".into()], ..Grant::default() };
        assert!(grant.is_for(Some("token:a")) && !grant.is_for(Some("token:b")) && !grant.is_for(None));
        assert!(Grant::default().is_for(None) && Grant::default().is_for(Some("token:b")));
        let at = |number| I2cAddress::new(number).unwrap();
        assert!(grant.has_device(1, at(0x57)) && !grant.has_device(1, at(0x58)) && !grant.has_device(2, at(0x57)));
        assert_eq!([device("1"), device("x:0x48"), device("1:0x80"), device("9999999999:0x48")], [None; 4]);
    }
}
