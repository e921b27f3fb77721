//! `[[serial.ports]]`: the serial ports that `serial.*` may open.

use crate::config::{
    declare::section,
    found::LocatedValue,
    key::InState,
    kind::{Complaint, KnownTools, SettingKind},
    table_setting::TableSetting,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

section! {
    /// Serial ports that `serial.*` can open. Without one, a real board's ports are only listed.
    [serial] pub struct SerialSettings {
        /// Ports that may be opened, one `[[serial.ports]]` each. A port that this system uses itself (a console, a login
        /// prompt) is refused even if it is listed.
        // Empty: no port on a real board, every port on a simulated one.
        ports: Vec<SerialPortSetting> = Vec::new(), SettingKind::Tables(&PORTS), InState::Never;
    }
}

/// One port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SerialPortSetting {
    /// Its path below `/dev`: `ttyUSB0`, `serial/by-id/usb-…`.
    pub name: String,
    /// Whether it may also be written.
    #[serde(default)]
    pub writable: bool,
}

/// Longest name of a port, in bytes: names below `/dev/serial/by-id` are long.
pub const NAME_BYTES: usize = 128;
/// Maximum number of entries.
const MOST: usize = 64;

/// Whether it is a path below `/dev`, with nothing that leads out of it.
pub fn is_port(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:+@,-".contains(&byte);
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.bytes().all(plain);
    text.len() <= NAME_BYTES && text.split('/').all(part)
}

/// `serial.ports`.
pub const PORTS: TableSetting = TableSetting {
    key: "serial.ports",
    noun: "port",
    most: MOST,
    named: false,
    secret: false,
    required: &["name"],
    optional: &["writable (false)"],
    check_field,
    example: "\
#[[serial.ports]]
#name = \"ttyUSB0\"
#writable = true
",
};

fn check_field(field: &str, found: &LocatedValue, tools: &KnownTools) -> Option<Result<Value, Complaint>> {
    Some(match field {
        "name" => match found.good_text(is_port) {
            Some(text) => Ok(Value::from(text)),
            None => Err((
                found.at,
                format!("serial.ports.name must be a path below /dev like \"ttyUSB0\", not {}", found.shown()),
            )),
        },
        "writable" => SettingKind::Bool.check_field("serial.ports.writable", found, tools),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_a_path_below_dev() {
        for good in ["ttyUSB0", "ttyAMA0", "pts/3", "serial/by-id/usb-FTDI_FT232R_A5-if00-port0", "rfcomm0"] {
            assert!(is_port(good), "{good}");
        }
        for bad in ["", "/dev/ttyS0", "../etc/passwd", "pts/../mem", "a//b", "a/", ".hidden", "tty S0", "tty\0"] {
            assert!(!is_port(bad), "{bad:?}");
        }
        assert!(is_port(&"a".repeat(NAME_BYTES)) && !is_port(&"a".repeat(NAME_BYTES + 1)));
    }
}
