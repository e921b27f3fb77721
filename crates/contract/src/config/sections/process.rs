//! `[process]`: the processes that must not be sent a signal.

use crate::config::{declare::section, key::InState, kind::SettingKind};

section! {
    /// Processes that `process.send_signal` leaves alone, beside the first one, the kernel's and our own.
    [process] pub struct Process {
        /// Names (`comm`) of processes that get no signal: what keeps the machine up and reachable.
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
