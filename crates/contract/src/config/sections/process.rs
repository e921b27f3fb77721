//! `[process]`: the processes that must not be sent a signal.

use crate::config::{declare::section, key::InState, kind::SettingKind};

section! {
    /// Processes that `process.send_signal` may not signal, in addition to PID 1, kernel threads and raspi-mcp's own.
    [process] pub struct Process {
        /// Names (`comm`) of processes that get no signal, because they keep the machine running and reachable.
        protected: Vec<String> = PROTECTED.map(str::to_owned).to_vec(), SettingKind::Processes, InState::More;
    }
}

/// Processes that keep the machine running and reachable: init, the bus, logins, the network.
const PROTECTED: [&str; 9] = [
    "init",
    "systemd",
    "systemd-journal",
    "systemd-logind",
    "systemd-udevd",
    "dbus-daemon",
    "dbus-broker",
    "NetworkManager",
    "sshd",
];
