//! The types of values: their checks, and the texts that say what was expected.

use super::{
    approver_kinds::KINDS,
    fault::TextPosition,
    found::{LocatedValue, UncheckedValue},
    owners,
    sections::{dbus, gpio::PwmPin, update},
    table_setting::TableSetting,
    words::{NAMESPACES, full_path, is_host, is_name, is_service, one_of, sized},
};
use crate::{meta::Mode, values::Window};
use base::dns_label::is_label;
use base::nearest::nearest;
use serde_json::Value;
use std::net::SocketAddr;

/// The type and bounds of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    Bool,
    /// A whole number, both bounds included.
    Integer {
        min: i64,
        max: i64,
        unit: IntegerUnit,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of these words.
    Words(&'static [&'static str]),
    /// Address and port.
    Address,
    /// One line of text, or nothing.
    Text,
    /// A full path without `..`.
    Folder,
    /// The same, to a file.
    File,
    /// The same, and short enough for a socket address.
    SocketPath,
    /// Name of a user or group.
    Account,
    /// Host names, with or without a port.
    Hosts,
    /// Web origins: scheme, host, perhaps a port.
    Origins,
    /// Names of MCP clients, as they report them.
    Clients,
    /// Names of services, with `*` and `?`.
    Services,
    /// Names of cameras, with `*` and `?`.
    Cameras,
    Namespaces,
    ToolsOrNamespaces,
    /// `allow`, `ask` or `deny`.
    Mode,
    /// Tables, like `[[access.tokens]]`.
    Tables(&'static TableSetting),
    /// Full paths without `..`.
    Folders,
    /// Names of processes.
    Processes,
    /// GPIOs of the header by their Broadcom numbers, without the reserved 0 and 1.
    Pins,
    /// Accounts and the owners they belong to.
    Owners,
    /// Pins and the PWM channels that reach them.
    PwmPins,
    /// Tools and namespaces, each with the kinds of approver keys that may approve it.
    ApproverKinds,
    /// Windows of hours.
    Windows,
    /// Addresses that begin with https://.
    Urls,
    /// The same, and http:// on this machine.
    Probes,
    /// Full paths of programs, without arguments.
    Programs,
    /// Addresses of a broker that begin with tls://.
    Brokers,
    /// A label of DNS, or nothing.
    FleetName,
    /// At most 8 labels of DNS, of at most 20 characters each.
    Tags,
    /// A table of users and their roles, like `{ ann = "ops_rw" }`.
    UserRoles,
}

/// What an integer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerUnit {
    Count,
    Seconds,
    Bytes,
}

pub const KIB: i64 = 1024;
pub const MIB: i64 = 1024 * KIB;
pub const GIB: i64 = 1024 * MIB;

/// A whole number; both bounds are included.
pub const fn count(min: i64, max: i64) -> SettingKind {
    SettingKind::Integer { min, max, unit: IntegerUnit::Count }
}

/// A whole number of seconds; both bounds are included.
pub const fn seconds(min: i64, max: i64) -> SettingKind {
    SettingKind::Integer { min, max, unit: IntegerUnit::Seconds }
}

/// A whole number of bytes; both bounds are included.
pub const fn bytes(min: i64, max: i64) -> SettingKind {
    SettingKind::Integer { min, max, unit: IntegerUnit::Bytes }
}

/// Roles, weakest first.
pub const ROLES: SettingKind = SettingKind::Choice(&["read_only", "ops_rw", "admin"]);

/// Maximum bytes of a unix socket's path: `sun_path` has 108 bytes, the last of them zero (unix(7)).
const SOCKET_PATH_BYTES: usize = 107;
/// Maximum bytes of a line of text: an address, a name.
const TEXT_BYTES: usize = 512;
/// Maximum entries of a list: more than anybody writes by hand, and little memory.
const LIST_ENTRIES: usize = 256;

/// Maximum tags of a device, and characters of one: they travel in its status, which has 1 KiB.
const TAGS: usize = 8;
const TAG_BYTES: usize = 20;

/// A fault in a value, at the position of the wrong part.
pub type Complaint = (Option<TextPosition>, String);

/// The tools of this build with their default modes.
pub type KnownTools = [(&'static str, Mode)];

impl SettingKind {
    /// "a whole number of seconds from 1 to 600".
    pub fn expected(self) -> String {
        match self {
            Self::Bool => "true or false".into(),
            Self::Integer { min, max, unit } => match unit {
                IntegerUnit::Count => format!("a whole number from {min} to {max}"),
                IntegerUnit::Seconds => format!("a whole number of seconds from {min} to {max}"),
                IntegerUnit::Bytes => format!("a whole number of bytes from {} to {}", sized(min), sized(max)),
            },
            Self::Choice(words) => one_of(words),
            Self::Words(words) => format!("a list of {}", one_of(words)),
            Self::Mode => one_of(MODES),
            Self::Text => format!("one line of at most {TEXT_BYTES} bytes, or \"\" for none"),
            Self::Address => "an address and port like \"127.0.0.1:8765\"".into(),
            Self::Folder => "a full path without \"..\", like \"/var/lib/raspi-mcp\"".into(),
            Self::File => "a full path without \"..\", like \"/etc/raspi-mcp/key.pem\"".into(),
            Self::SocketPath => format!("a full path without \"..\" of at most {SOCKET_PATH_BYTES} bytes"),
            Self::Account => "a group name of 1 to 32 characters from a-z, 0-9, \"_\" and \"-\"".into(),
            Self::Hosts => "a list of host names like \"pi.local\" or \"pi.local:8765\"".into(),
            Self::Origins => "a list of origins like \"http://pi.local:8765\"".into(),
            Self::Clients => "a list of client names of 1 to 128 characters".into(),
            Self::Services => "a list of services like \"nginx.service\" or \"app-*.service\"".into(),
            Self::Cameras => "a list of cameras like \"/dev/video0\" or \"HD Webcam*\"".into(),
            Self::Namespaces => format!("a list of namespaces out of {}", NAMESPACES.join(", ")),
            Self::ToolsOrNamespaces => "a list of tools (\"system.reboot\") and namespaces (\"gpio\")".into(),
            Self::Tables(tables) => tables.expected(),
            Self::Folders => "a list of full paths without \"..\", like \"/srv/work\"".into(),
            Self::Processes => "a list of process names of 1 to 15 bytes".into(),
            Self::Pins => "a list of GPIO numbers from 2 to 27".into(),
            Self::PwmPins => "a list of pins with their channels like \"18=3f20c000.pwm:0\"".into(),
            Self::Owners => "a list of accounts with their owners like \"uid:1000=ann\", \"user:ann=ann\", \"jwt:SUBJECT=ann\" or \"stdio=ann\"".into(),
            Self::ApproverKinds => {
                "a list of tools, namespaces or \"*\" with kinds of keys like \"gpio=cli+passkey\"".into()
            }
            Self::Windows => "a list of hours like \"mon-fri 02:00-05:00\" or \"23:00-04:00\"".into(),
            Self::Urls => "a list of addresses like \"https://mirror.example.org/pi\"".into(),
            Self::Probes => {
                "a list of addresses like \"https://example.org/health\" or \"http://localhost:8080/\"".into()
            }
            Self::Programs => "a list of full paths without \"..\", like \"/usr/libexec/check-sensors\"".into(),
            Self::Brokers => "a list of addresses like \"tls://broker.example.org:4222\"".into(),
            Self::FleetName => "1 to 63 of a-z, 0-9 and \"-\", with no \"-\" at either end, or \"\" for none".into(),
            Self::UserRoles => "a table of users with \"read_only\", \"ops_rw\" or \"admin\", like { ann = \"ops_rw\" }".into(),
            Self::Tags => format!("a list of at most {TAGS} words of 1 to {TAG_BYTES} of a-z, 0-9 and \"-\""),
        }
    }

    /// Checks a value and returns it in the form the settings are read from. All faults go to `wrong`.
    pub fn check(
        self,
        name: &str,
        found: &LocatedValue,
        tools: &KnownTools,
        wrong: &mut Vec<Complaint>,
    ) -> Option<Value> {
        match self {
            Self::Tables(tables) => tables.check(found, tools, wrong),
            Self::UserRoles if let UncheckedValue::Table(entries) = &found.value => {
                dbus::roles(name, entries).map_err(|(at, fault)| wrong.push((at.or(found.at), fault))).ok()
            }
            _ if self.is_list() => self.check_list(name, found, tools, wrong),
            _ => match self.check_one(found) {
                Ok(value) => Some(value),
                Err(hint) => {
                    wrong.push((found.at, format!("{name} must be {}, not {}{hint}", self.expected(), found.shown())));
                    None
                }
            },
        }
    }

    /// Checks a value that is a field of a table.
    ///
    /// # Errors
    /// The fault.
    pub fn check_field(self, name: &str, found: &LocatedValue, tools: &KnownTools) -> Result<Value, Complaint> {
        let mut wrong = Vec::new();
        let value = self.check(name, found, tools, &mut wrong);
        value.ok_or_else(|| wrong.pop().unwrap_or_else(|| (found.at, format!("{name} must be {}", self.expected()))))
    }

    /// Its description if it is written as tables, which only a file can contain.
    pub fn tables(self) -> Option<&'static TableSetting> {
        match self {
            Self::Tables(tables) => Some(tables),
            _ => None,
        }
    }

    /// Whether it is written as tables.
    pub fn is_tables(self) -> bool {
        self.tables().is_some()
    }

    /// Whether it is a list of words.
    fn is_list(self) -> bool {
        matches!(
            self,
            Self::Words(_)
                | Self::Hosts
                | Self::Origins
                | Self::Clients
                | Self::Services
                | Self::Cameras
                | Self::Namespaces
                | Self::ToolsOrNamespaces
                | Self::Folders
                | Self::Processes
                | Self::Pins
                | Self::PwmPins
                | Self::Owners
                | Self::ApproverKinds
                | Self::Windows
                | Self::Urls
                | Self::Probes
                | Self::Programs
                | Self::Brokers
                | Self::Tags
        )
    }

    /// Checks a single value. The error is the text to add after "must be ..., not ...".
    fn check_one(self, found: &LocatedValue) -> Result<Value, String> {
        match (self, &found.value) {
            (Self::Bool, UncheckedValue::Boolean(value)) => Ok((*value).into()),
            (Self::Integer { min, max, .. }, UncheckedValue::Integer(value)) if (min..=max).contains(value) => {
                Ok((*value).into())
            }
            (Self::Choice(words), UncheckedValue::Text(text)) => word(words, text),
            (Self::Mode, UncheckedValue::Text(text)) => word(MODES, text),
            (Self::Address, UncheckedValue::Text(text)) => {
                let address: SocketAddr = text.parse().map_err(|_| String::new())?;
                Ok(address.to_string().into())
            }
            (Self::Text, UncheckedValue::Text(text))
                if text.len() <= TEXT_BYTES && !text.contains(char::is_control) =>
            {
                Ok(text.as_str().into())
            }
            (Self::Folder | Self::File, UncheckedValue::Text(text)) if full_path(text) => Ok(text.as_str().into()),
            (Self::SocketPath, UncheckedValue::Text(text)) if full_path(text) && text.len() <= SOCKET_PATH_BYTES => {
                Ok(text.as_str().into())
            }
            (Self::Account, UncheckedValue::Text(text)) if is_name(text, 32) => Ok(text.as_str().into()),
            (Self::FleetName, UncheckedValue::Text(text)) if text.is_empty() || is_label(text) => {
                Ok(text.as_str().into())
            }
            _ => Err(String::new()),
        }
    }

    fn check_list(
        self,
        name: &str,
        found: &LocatedValue,
        tools: &KnownTools,
        wrong: &mut Vec<Complaint>,
    ) -> Option<Value> {
        let UncheckedValue::List(items) = &found.value else {
            wrong.push((found.at, format!("{name} must be {}, not {}", self.expected(), found.shown())));
            return None;
        };
        let most = if self == Self::Tags { TAGS } else { LIST_ENTRIES };
        if items.len() > most {
            wrong.push((found.at, format!("{name} has {} entries; at most {most} are allowed", items.len())));
            return None;
        }
        let before = wrong.len();
        let mut words: Vec<Value> = Vec::new();
        for item in items {
            match self.check_item(item, tools) {
                Ok(word) => {
                    if !words.contains(&word) {
                        words.push(word);
                    }
                }
                Err(hint) => {
                    let expected = self.expected();
                    wrong.push((item.at, format!("{name} must be {expected}; {} is none{hint}", item.shown())));
                }
            }
        }
        (wrong.len() == before).then_some(Value::Array(words))
    }

    fn check_item(self, item: &LocatedValue, tools: &KnownTools) -> Result<Value, String> {
        let text = match (self, &item.value) {
            (Self::Pins, UncheckedValue::Integer(pin @ 2..=27)) => return Ok((*pin).into()),
            (Self::Pins, UncheckedValue::Integer(0 | 1)) => {
                return Err("; 0 and 1 belong to the identification EEPROM of add-on boards".into());
            }
            (_, UncheckedValue::Text(text)) => text,
            _ => return Err(String::new()),
        };
        let namespaces = || NAMESPACES.iter().copied();
        let names = || tools.iter().map(|(name, _)| *name);
        let grouped = || names().filter_map(|name| name.split('.').next());
        match self {
            Self::Words(words) => return word(words, text),
            Self::Hosts if is_host(text) => {}
            Self::Origins
                if text.split_once("://").is_some_and(|(scheme, host)| is_name(scheme, 32) && is_host(host)) => {}
            Self::Folders | Self::Programs if full_path(text) => {}
            Self::Windows if Window::parse(text).is_some() => {}
            Self::Urls if update::is_https(text) => {}
            Self::Probes if update::is_probe(text) => {}
            Self::Brokers if text.strip_prefix("tls://").is_some_and(is_host) => {}
            Self::Tags if is_label(text) && text.len() <= TAG_BYTES => {}
            // TASK_COMM_LEN: 16 with the zero.
            Self::Processes if (1..=15).contains(&text.len()) && !text.contains(char::is_control) => {}
            Self::Clients if (1..=128).contains(&text.chars().count()) && !text.contains(char::is_control) => {}
            // V4L2's names have up to 32 bytes, libcamera's locations more.
            Self::Cameras if (1..=128).contains(&text.chars().count()) && !text.contains(char::is_control) => {}
            Self::Services if is_service(text) => {}
            Self::PwmPins if PwmPin::parse(text).is_some() => {}
            Self::Owners if owners::parse(text).is_some() => {}
            Self::ApproverKinds => {
                let (name, kinds) = text.split_once('=').ok_or_else(String::new)?;
                if name != "*" && !namespaces().chain(grouped()).chain(names()).any(|known| known == name) {
                    return Err(meant(name, namespaces().chain(grouped()).chain(names())));
                }
                if kinds.split('+').any(|kind| !KINDS.contains(&kind)) {
                    return Err(format!("; the kinds are {}, with \"+\" between them", KINDS.join(", ")));
                }
            }
            Self::Namespaces if namespaces().any(|known| known == text) => {}
            Self::Namespaces => return Err(meant(text, namespaces())),
            Self::ToolsOrNamespaces if namespaces().chain(grouped()).chain(names()).any(|known| known == text) => {}
            Self::ToolsOrNamespaces => return Err(meant(text, namespaces().chain(grouped()).chain(names()))),
            _ => return Err(String::new()),
        }
        Ok(text.as_str().into())
    }

    /// The value of an environment variable or flag, parsed as this kind.
    pub fn read_text(self, text: &str) -> LocatedValue {
        let value = match self {
            Self::Bool => text.parse().ok().map(UncheckedValue::Boolean),
            Self::Integer { .. } => text.replace('_', "").parse().ok().map(UncheckedValue::Integer),
            _ if self.is_list() => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                Some(UncheckedValue::List(items.map(|item| self.read_item(item)).collect()))
            }
            _ => None,
        };
        value.map_or_else(|| LocatedValue::text(text), |value| LocatedValue { at: None, value })
    }

    fn read_item(self, text: &str) -> LocatedValue {
        match (self, text.parse()) {
            (Self::Pins, Ok(number)) => LocatedValue { at: None, value: UncheckedValue::Integer(number) },
            _ => LocatedValue::text(text),
        }
    }
}

const MODES: &[&str] = &["allow", "ask", "deny"];

fn word(words: &'static [&'static str], text: &str) -> Result<Value, String> {
    if words.contains(&text) { Ok(text.into()) } else { Err(meant(text, words.iter().copied())) }
}

/// "; did you mean ...?", or nothing.
pub fn meant<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(text, known).map(|word| format!("; did you mean \"{word}\"?")).unwrap_or_default()
}
