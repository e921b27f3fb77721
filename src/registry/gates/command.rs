//! The command that opens the gates, as a person can run it.

use crate::registry::{
    entry::Entry,
    refusal::{self, Named},
};
use base::os::systemd::ServiceName;
use contract::{
    access::{caller::Caller, way},
    config::{is_full_path, is_grantable},
    meta::Mode,
    values::{I2cAddress, Pin},
};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The command that opens the gates for this very call. Of the arguments only what is certainly plain goes into it: a person may copy it
/// into a shell.
pub(super) fn command(entry: &Entry, caller: &Caller, named: &Named, mode: Mode) -> String {
    let mut command = format!("raspi-mcp allow {}", entry.name());
    let number = |name: &str| named.resources.get(name).and_then(Value::as_u64);
    let pin = number("pin").and_then(|pin| Pin::try_from(pin).ok());
    if let Some(pin) = pin.filter(|_| entry.meta().namespace() == "gpio") {
        command.push_str(&format!(" --pin {}", pin.bcm()));
    }
    let address = number("address").and_then(|address| I2cAddress::new(u8::try_from(address).ok()?));
    if let (Some(bus), Some(address)) = (number("bus"), address) {
        command.push_str(&format!(" --device {bus}:{address}"));
    }
    if let Some(device) = device_file(named, entry) {
        command.push_str(&format!(" --device {}", quoted(&device)));
    }
    if let (Some(bus), "i2c.scan_bus") = (number("bus"), entry.name()) {
        command.push_str(&format!(" {bus}"));
    }
    if let Some(folder) = folder(named, entry) {
        command.push_str(&format!(" --path {}", quoted(&folder)));
    }
    let service = named.resources.get("service_name").and_then(Value::as_str);
    if let Some(name) = service.and_then(|name| ServiceName::parse(name).ok()) {
        command.push_str(&format!(" {}", quoted(name.as_str().strip_suffix(".service").unwrap_or(name.as_str()))));
    }
    if entry.meta().namespace() == "camera" && entry.meta().effect.is_write() {
        // A call that names none takes the first one: not every one.
        let camera = named.resources.get("camera").and_then(Value::as_str).unwrap_or("CAMERA");
        command.push_str(&format!(" {}", quoted(camera)));
    }
    if caller.role < entry.meta().role {
        command.push_str(&format!(" --for {}", quoted(&caller.principal)));
    }
    if mode == Mode::Deny {
        command.push_str(" --ask");
    }
    command
}

/// The SPI device or serial port that a grant has to name: `spidev0.1`, `ttyUSB0`.
pub(super) fn device_file(named: &Named, entry: &Entry) -> Option<String> {
    match entry.name() {
        "spi.transfer" => {
            let number = |name: &str| named.resources.get(name).and_then(Value::as_u64);
            Some(format!("spidev{}.{}", number("bus")?, number("chip_select")?))
        }
        "serial.open" | "serial.write" => Some(named.resources.get("port")?.as_str()?.to_owned()),
        _ => None,
    }
}

/// In place of a folder that its owner has to choose.
const CHOSEN: &str = "FOLDER";

/// The folder that a grant has to name for a call of `files.*`, from nothing but the caller's own words: for a file the one that it is
/// in, or [`CHOSEN`] where that one holds much else. `None` where the path is relative, cut, or of the system's own.
pub(super) fn folder(named: &Named, entry: &Entry) -> Option<String> {
    let path = named.resources.get("path").and_then(Value::as_str).filter(|_| entry.meta().namespace() == "files")?;
    let whole = path.chars().count() < refusal::LONGEST && is_full_path(path);
    let is_folder = entry.name() == "files.list";
    let folder = if is_folder { Some(Path::new(path)) } else { Path::new(path).parent() };
    let folder = folder.filter(|folder| whole && (is_grantable(folder) || !is_folder && folder.parent().is_none()))?;
    if !is_folder && is_shared(folder) {
        return Some(CHOSEN.to_owned());
    }
    Some(folder.components().collect::<PathBuf>().to_string_lossy().into_owned())
}

/// Whether the folder is one in which a system has many things, so that nobody opens it for the sake of one file: `/srv`, somebody's
/// home, a whole disk.
fn is_shared(folder: &Path) -> bool {
    let parts: Vec<_> = folder.components().skip(1).map(|part| part.as_os_str().to_string_lossy()).collect();
    let depth = match parts.first().map(AsRef::as_ref) {
        Some("home" | "mnt" | "opt" | "usr" | "var") => 2,
        Some("media") => 3,
        _ => 1,
    };
    parts.len() <= depth
}

/// What the owner does: `command`, and what there is to do beside it.
pub(super) fn way_in(caller: &Caller, entry: &Entry, command: &str) -> String {
    let way = way_to(caller, entry, command);
    if command.contains(" --path FOLDER") {
        return format!(
            "{way}; FOLDER is one that holds nothing else: what this file is in holds more than the call names"
        );
    }
    way
}

fn way_to(caller: &Caller, entry: &Entry, command: &str) -> String {
    match entry.name() {
        "exec.run" => format!(
            "{}; each command also needs an entry of [[exec.commands]], which takes a restart",
            way::to_run(caller, command)
        ),
        "files.write" | "files.delete" => format!(
            "{}; the unit of the service also needs ReadWritePaths= for that folder, which takes a restart",
            way::to_run(caller, command)
        ),
        _ => way::to_open(caller, command),
    }
}

/// As a shell takes it for one word.
pub(super) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._:@/-".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    let safe: String = text.chars().filter(|c| !c.is_control()).collect();
    format!("'{}'", safe.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_caller_named_stays_one_word_of_a_command() {
        assert_eq!(quoted("token:laptop"), "token:laptop");
        assert_eq!(quoted("a b;rm"), "'a b;rm'");
        assert_eq!(quoted("it's\n"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn a_folder_of_much_else_is_not_opened_for_one_file() {
        for shared in ["/", "/srv", "/home", "/home/pi", "/mnt/disk", "/media/pi/STICK", "/var/lib", "/opt/app", "/tmp"]
        {
            assert!(is_shared(Path::new(shared)), "{shared}");
        }
        for own in ["/srv/notes", "/home/pi/notes", "/mnt/disk/notes", "/media/pi/STICK/notes", "/tmp/x"] {
            assert!(!is_shared(Path::new(own)), "{own}");
        }
    }
}
