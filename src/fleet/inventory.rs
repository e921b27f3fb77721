//! The list of a fleet's devices: TOML, parsed as strictly as the configuration; every mistake is reported with its
//! line.

use crate::client::{Trust, admits, checked};
use appliance::certificate::Fingerprint;
use base::error::ToolError;
use contract::config::{
    Complaint, ConfigEntry, ConfigError, Faults, LocatedValue, Origin, Tables, UncheckedValue, document, is_name,
    meant, quoted, read_text,
};
use reqwest::{Certificate, Url};
use serde_json::{Map, Value};
use std::{
    fs::Metadata,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Most devices in one inventory.
const MOST: usize = 1024;
/// Longest address or file path, in bytes.
const TEXT_BYTES: usize = 512;
const KEYS: &[&str] = &["timeout_seconds", "at_once", "ca_file", "token_file", "devices"];
const FIELDS: &[&str] = &["name", "url", "pin", "ca_file", "token", "token_file"];

/// Seconds for all answers of one device: minimum, default, maximum. A Pi Zero takes one.
const TIMEOUT: (i64, i64, i64) = (1, 10, 120);
/// Devices queried concurrently: minimum, default, maximum. Each takes a connection and some KB.
const AT_ONCE: (i64, i64, i64) = (1, 16, 64);

/// A fleet.
pub struct Inventory {
    pub devices: Vec<FleetDevice>,
    /// Time limit for all answers of one device.
    pub timeout: Duration,
    /// Devices queried concurrently.
    pub at_once: usize,
}

/// One device and how to reach it.
pub struct FleetDevice {
    pub name: String,
    pub url: Url,
    pub trust: Trust,
    /// A secret.
    pub token: Option<String>,
}

impl Inventory {
    /// Reads an inventory and the files it names.
    ///
    /// # Errors
    /// All its mistakes. What may be a token is never repeated.
    pub fn read(path: &Path) -> Result<Self, Faults> {
        let origin = Origin::file(path);
        let fault = |(at, message): Complaint| ConfigError::new(origin.at(at), message);
        let mut open = false;
        let text = read_text(path, |about| {
            open = is_open(about);
            Ok(())
        });
        let entries = text.map_err(|message| vec![(None, message)]).and_then(|text| document(&text));
        let entries = entries.map_err(|wrong| Faults(wrong.into_iter().map(fault).collect()))?;
        let mut wrong = Vec::new();
        let folder = path.parent().unwrap_or(Path::new("."));
        let made = Reading { folder, open, wrong: &mut wrong }.inventory(&entries);
        match made {
            Some(inventory) if wrong.is_empty() => Ok(inventory),
            _ => Err(Faults(wrong.into_iter().map(fault).collect())),
        }
    }
}

/// Whether all users of this machine may read the file.
fn is_open(about: &Metadata) -> bool {
    about.permissions().mode() & 0o007 != 0
}

/// State while an inventory is parsed.
struct Reading<'a> {
    /// The folder to which its paths are relative.
    folder: &'a Path,
    /// All users may read the inventory itself.
    open: bool,
    wrong: &'a mut Vec<Complaint>,
}

impl Reading<'_> {
    fn inventory(&mut self, entries: &[ConfigEntry]) -> Option<Inventory> {
        for entry in entries.iter().filter(|entry| !KEYS.contains(&entry.key.as_str())) {
            let near = meant(&entry.key, KEYS.iter().copied());
            self.wrong.push((entry.key_at, format!("unknown key {}{near}", quoted(&entry.key))));
        }
        let find = |key: &str| entries.iter().find(|entry| entry.key == key).map(|entry| &entry.found);
        let timeout = self.number("timeout_seconds", find("timeout_seconds"), TIMEOUT);
        let at_once = self.number("at_once", find("at_once"), AT_ONCE);
        let trust = find("ca_file").and_then(|found| self.authorities("ca_file", found));
        let token = find("token_file").and_then(|found| self.token_of("token_file", found));
        let Some(found) = find("devices") else {
            self.wrong.push((None, "names no device; write a table [[devices]] with name and url for each".into()));
            return None;
        };
        let devices = self.devices(found, &trust.unwrap_or(Trust::System), token.as_ref())?;
        Some(Inventory {
            devices,
            timeout: Duration::from_secs(timeout.unsigned_abs()),
            at_once: usize::try_from(at_once).unwrap_or(1),
        })
    }

    fn number(&mut self, key: &str, found: Option<&LocatedValue>, (min, default, max): (i64, i64, i64)) -> i64 {
        match found.map(|found| (found, &found.value)) {
            None => default,
            Some((_, UncheckedValue::Integer(number))) if (min..=max).contains(number) => *number,
            Some((found, _)) => {
                let shown = found.shown();
                self.wrong.push((found.at, format!("{key} must be a whole number from {min} to {max}, not {shown}")));
                default
            }
        }
    }

    fn devices(&mut self, found: &LocatedValue, trust: &Trust, token: Option<&String>) -> Option<Vec<FleetDevice>> {
        let tables = Tables {
            key: "devices",
            expected: "tables [[devices]] with name, url and how to trust it",
            most: MOST,
            noun: "device",
            required: &["name", "url"],
        };
        let checked = tables.check(found, self.wrong, |field, key_at, found| {
            let at = if FIELDS.contains(&field) { found.at } else { key_at };
            text(field, found).map_err(|message| (at, message))
        })?;
        let (Value::Array(checked), UncheckedValue::List(items)) = (checked, &found.value) else { return None };
        let mut devices: Vec<FleetDevice> = Vec::new();
        for (item, table) in items.iter().zip(&checked) {
            let Some(device) = table.as_object().and_then(|table| self.device(item, table, trust, token)) else {
                continue;
            };
            if devices.iter().any(|other| other.name == device.name) {
                self.wrong.push((item.at, format!("there is a device {} already; names are unique", device.name)));
            }
            devices.push(device);
        }
        Some(devices)
    }

    fn device(
        &mut self,
        item: &LocatedValue,
        table: &Map<String, Value>,
        trust: &Trust,
        token: Option<&String>,
    ) -> Option<FleetDevice> {
        let before = self.wrong.len();
        let text = |field: &str| table.get(field).and_then(Value::as_str);
        let field = |field: &str| match &item.value {
            UncheckedValue::Table(entries) => entries.iter().find(|entry| entry.key == field).map(|entry| &entry.found),
            _ => None,
        };
        let name = text("name")?.to_owned();
        for (one, other) in [("pin", "ca_file"), ("token", "token_file")] {
            if let (Some(_), Some(second)) = (field(one), field(other)) {
                self.wrong.push((second.at, format!("{name} has {one} and {other}; write one of the two")));
            }
        }
        let trust = match (text("pin").and_then(Fingerprint::parse), field("ca_file")) {
            (Some(pin), _) => Some(Trust::Pin(pin)),
            (None, Some(found)) => self.authorities("ca_file", found),
            (None, None) => Some(trust.clone()),
        };
        let token = match (text("token"), field("token_file")) {
            (Some(_), _) if self.open => {
                let at = field("token").and_then(|found| found.at);
                self.wrong.push((at, "holds a token, and everybody on this machine may read it: chmod 600 it".into()));
                None
            }
            (Some(token), _) => Some(token.to_owned()),
            (None, Some(found)) => self.token_of("token_file", found),
            (None, None) => token.cloned(),
        };
        let mut url: Url = text("url")?.parse().ok()?;
        if let Err(error) = admits(&url, matches!(trust, Some(Trust::Pin(_))), token.is_some()) {
            self.wrong.push((field("url").and_then(|found| found.at), format!("devices.url: {}", error.advice())));
        }
        if url.path() == "/" {
            url.set_path("/mcp");
        }
        (self.wrong.len() == before).then_some(FleetDevice { name, url, trust: trust?, token })
    }

    /// The certificates in a file.
    fn authorities(&mut self, key: &str, found: &LocatedValue) -> Option<Trust> {
        let read = self.file(key, found, |path| {
            let text = read_text(path, |_| Ok(()))?;
            let certificates = Certificate::from_pem_bundle(text.as_bytes()).map_err(|error| error.to_string())?;
            if certificates.is_empty() {
                return Err("holds no certificate; it must hold the authorities' as PEM".into());
            }
            Ok(Trust::Authorities(Arc::from(certificates)))
        });
        self.noted(found, read)
    }

    /// The token in a file.
    fn token_of(&mut self, key: &str, found: &LocatedValue) -> Option<String> {
        let read = self.file(key, found, |path| {
            let text = read_text(path, |about| match is_open(about) {
                true => Err("everybody on this machine may read this token: chmod 600 it".into()),
                false => Ok(()),
            })?;
            Ok(checked(&text)?)
        });
        self.noted(found, read)
    }

    /// Applies `read` to the named file; errors are prefixed with its path.
    fn file<T>(
        &self,
        key: &str,
        found: &LocatedValue,
        read: impl FnOnce(&Path) -> Result<T, String>,
    ) -> Result<T, String> {
        let path = self.path(key, found)?;
        read(&path).map_err(|why| format!("{key} {}: {why}", path.display()))
    }

    fn path(&self, key: &str, found: &LocatedValue) -> Result<PathBuf, String> {
        match &found.value {
            UncheckedValue::Text(text) if is_line(text) => Ok(self.folder.join(text)),
            _ => Err(format!("{key} must be the path of a file, not {}", found.shown())),
        }
    }

    fn noted<T>(&mut self, found: &LocatedValue, read: Result<T, String>) -> Option<T> {
        read.map_err(|message| self.wrong.push((found.at, message))).ok()
    }
}

/// A field of a device. Its value is not repeated in errors if it may be a secret.
fn text(field: &str, found: &LocatedValue) -> Result<Value, String> {
    let text = match &found.value {
        UncheckedValue::Text(text) => text.as_str(),
        _ => "",
    };
    let good = match field {
        "name" if is_name(text, 64) => Ok(()),
        "name" => Err("devices.name must be 1 to 64 characters from a-z, 0-9, \"_\" and \"-\"".into()),
        "url" => address(text).map_err(|error| format!("devices.url {}", error.message)),
        "pin" if Fingerprint::parse(text).is_some() => Ok(()),
        "pin" => Err("devices.pin must be sha256: and 64 hexadecimal digits, as `raspi-mcp tls show` prints it".into()),
        "token" => checked(text).map(drop).map_err(|why| format!("devices.token: {why}")),
        "ca_file" | "token_file" if is_line(text) => Ok(()),
        "ca_file" | "token_file" => Err(format!("devices.{field} must be the path of a file, not {}", found.kind())),
        _ => {
            let near = meant(field, FIELDS.iter().copied());
            Err(format!("unknown key {} in [[devices]]{near}", quoted(field)))
        }
    };
    good.map(|()| text.into())
}

fn is_line(text: &str) -> bool {
    (1..=TEXT_BYTES).contains(&text.len()) && !text.contains(char::is_control)
}

/// An address may only name a server: a part before `@` or after `?` would be shown with it.
fn address(text: &str) -> Result<(), ToolError> {
    let wrong = |why: &str| Err(ToolError::invalid(format!("{why}; write it like \"https://pi.local:8765\"")));
    let url: Url = match text.parse() {
        Ok(url) if is_line(text) => url,
        _ => return wrong("is no address"),
    };
    let secret = !url.username().is_empty() || url.password().is_some();
    if secret || url.query().is_some() || url.fragment().is_some() {
        return wrong("must have no name, password, query or fragment in it");
    }
    if url.host_str().is_none_or(str::is_empty) { wrong("names no host") } else { Ok(()) }
}
