//! The allow-list of serial ports, from the configuration.

use base::error::ToolError;
use contract::config::{SerialPortSetting, SerialSettings};
use std::collections::BTreeMap;

/// The allow-list: whether each port may also be written.
#[derive(Clone, Debug)]
pub enum SerialAllow {
    /// A simulated board without configuration: every port is allowed.
    Everything,
    Listed(BTreeMap<String, bool>),
}

impl SerialAllow {
    /// Without a list nothing is allowed, except on a simulated board, where everything is.
    pub fn of(settings: &SerialSettings, simulated: bool) -> Self {
        if simulated && settings.ports.is_empty() {
            return Self::Everything;
        }
        let entry = |one: &SerialPortSetting| (one.name.clone(), one.writable);
        Self::Listed(base::sort::map(settings.ports.iter().map(entry)))
    }

    /// Whether a port may be opened, and whether it may be written.
    pub fn on(&self, port: &str) -> (bool, bool) {
        match self {
            Self::Everything => (true, true),
            Self::Listed(ports) => (ports.contains_key(port), ports.get(port).copied().unwrap_or_default()),
        }
    }

    /// The names in the list.
    pub fn names(&self) -> Vec<String> {
        match self {
            Self::Everything => Vec::new(),
            Self::Listed(ports) => ports.keys().cloned().collect(),
        }
    }

    /// Whether any port may be opened, or with `written` also written.
    ///
    /// # Errors
    /// `permission_denied`, naming the setting.
    pub fn some(&self, written: bool) -> Result<(), ToolError> {
        match self {
            Self::Listed(ports) if !ports.values().any(|writable| *writable || !written) => {
                let more = if written { ", writable = true" } else { "" };
                Err(ToolError::denied("no serial port is on the list of this machine for that").hint(format!(
                    "the owner of this machine can add one to [[serial.ports]]: name = \"ttyUSB0\"{more}"
                )))
            }
            _ => Ok(()),
        }
    }

    /// The error for a port that is not allowed.
    pub fn refusal(&self, port: &str, verb: &str) -> ToolError {
        let error = match (verb, self.on(port).0) {
            ("write", true) => ToolError::denied(format!("serial port {port} may be read and not written"))
                .hint("the owner of this machine can set writable = true for it in [[serial.ports]]"),
            _ => ToolError::denied(format!("serial port {port} is not on the list of this machine"))
                .hint(format!("the owner of this machine can add it to [[serial.ports]]: name = \"{port}\"")),
        };
        error.with("port", port).with("required_permission", format!("serial:{verb}:{port}"))
    }
}
