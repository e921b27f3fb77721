//! Awaits a unit's end by systemd's signals. Subscribed before the unit is started.

use super::{super::Ending, MANAGER};
use base::{error::ToolError, os::bus::DBus};
use futures::StreamExt;
use std::{collections::HashMap, num::NonZero};
use zbus::{MatchRule, MessageStream, Variant};

/// What systemd has reported of one unit.
pub(super) struct UnitWatch {
    signals: MessageStream,
    /// Its program was executed.
    active: bool,
    /// `CLD_EXITED` (1), `CLD_KILLED` (2) or `CLD_DUMPED` (3); 0 before the end (waitid(2)).
    code: i32,
    status: i32,
}

impl UnitWatch {
    pub(super) async fn start(bus: &DBus, unit: &str) -> Result<Self, ToolError> {
        let failed = |error: zbus::Error| {
            ToolError::unavailable(format!("systemd's signals cannot be followed: {error}"))
                .hint("systemctl status dbus")
        };
        // Without it systemd sends no signals. A repeated call returns an error, which is harmless.
        let _ = bus.call(MANAGER, "Subscribe", &()).await;
        let rule = MatchRule::builder()
            .msg_type(zbus::message::Type::Signal)
            .sender(MANAGER.service)
            .path(format!("/org/freedesktop/systemd1/unit/{}", escaped(unit)))
            .interface("org.freedesktop.DBus.Properties")
            .member("PropertiesChanged")
            .build()
            .map_err(failed)?;
        let connection = bus.connection().await?;
        let signals = MessageStream::for_match_rule(rule, &connection, NonZero::new(64)).await.map_err(failed)?;
        Ok(Self { signals, active: false, code: 0, status: 0 })
    }

    pub(super) async fn ended(&mut self) -> Result<Ending, ToolError> {
        while let Some(signal) = self.signals.next().await {
            let Ok(signal) = signal else { continue };
            let body = signal.body();
            let Ok((_, changed, _)) = body.deserialize::<(&str, HashMap<&str, Variant<'_>>, Vec<&str>)>() else {
                continue;
            };
            if self.heard(&changed) {
                return self.ending();
            }
        }
        Err(ToolError::unavailable("the connection to systemd was lost while the command ran")
            .hint("the command is ended by its own time limit"))
    }

    /// Records the changed properties. Returns whether the unit has ended, with no process left in its control group.
    fn heard(&mut self, changed: &HashMap<&str, Variant<'_>>) -> bool {
        let number = |name: &str| changed.get(name).and_then(|value| i32::try_from(value).ok());
        self.code = number("ExecMainCode").unwrap_or(self.code);
        self.status = number("ExecMainStatus").unwrap_or(self.status);
        let state = changed.get("ActiveState").and_then(|value| <&str>::try_from(value).ok());
        let entered = changed.get("ActiveEnterTimestampMonotonic").and_then(|value| u64::try_from(value).ok());
        self.active |= state == Some("active") || entered.is_some_and(|at| at > 0);
        // "inactive" is also the state before the start: systemd repeats all properties with every change.
        state == Some("failed") || state == Some("inactive") && self.code != 0
    }

    fn ending(&self) -> Result<Ending, ToolError> {
        match (self.code, self.status) {
            // 200 to 243: systemd's own codes for failures before the program was executed (systemd.exec(5)).
            (1, status @ 200..=243) if !self.active => {
                Err(ToolError::unavailable(format!("systemd could not start the command: {}", reason(status)))
                    .with("systemd_status", status)
                    .hint(
                        "check program, user and cwd_roots in [[exec.commands]]; the journal of the device says more",
                    ))
            }
            (1, status) => Ok(Ending::Exited(status)),
            (2 | 3, signal) => Ok(Ending::Killed(signal)),
            _ => Err(ToolError::unavailable("systemd did not start the command")
                .hint("journalctl -u 'raspi-mcp-exec-*' on the device says why")),
        }
    }
}

fn reason(status: i32) -> &'static str {
    match status {
        200 => "the working directory cannot be entered",
        203 => {
            "the program cannot be executed, or its path leads through a folder it does not see (/home, /root, /tmp)"
        }
        216 | 217 => "the account or its group does not exist",
        226 => "its view of the file system could not be made",
        _ => "see systemd.exec(5) for its status",
    }
}

/// A unit's name in its object path: everything but letters and digits as `_` and two hexadecimal digits.
fn escaped(unit: &str) -> String {
    unit.bytes().fold(String::new(), |mut path, byte| {
        if byte.is_ascii_alphanumeric() {
            path.push(char::from(byte));
        } else {
            path.push_str(&format!("_{byte:02x}"));
        }
        path
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_units_path_is_escaped() {
        assert_eq!(escaped("raspi-mcp-exec-0a.service"), "raspi_2dmcp_2dexec_2d0a_2eservice");
    }
}
