//! This machine: its file system, its board, and state between calls.

use crate::{
    board::Board,
    firmware::{Firmware, Mailbox},
    sensors::Sensors,
};
use base::{
    error::ToolError,
    os::{Root, about::About, activity::Activity, bus::DBus, processes::load::CpuReadings, systemd::Systemd},
};
use std::io;

/// Created once at start, shared by every tool that reads the machine.
pub struct Machine {
    pub root: Root,
    pub board: Board,
    pub firmware: Firmware,
    pub sensors: Sensors,
    pub about: About,
    pub activity: Activity,
    /// Processor time of each process at earlier calls.
    pub load: CpuReadings,
    /// D-Bus, for systemd, NetworkManager and others.
    pub bus: DBus,
    /// State of systemd kept between calls.
    pub systemd: Systemd,
}

impl Machine {
    /// The machine under `root` with that board and the system bus. `mailbox` queries the firmware where this process
    /// may not.
    pub fn new(root: Root, board: Board, mailbox: Option<Mailbox>) -> Self {
        let firmware = Firmware::new(&root, &board, mailbox);
        let sensors = Sensors::of(&root, board.simulated.as_ref().map(|board| &board.sensors));
        let (about, activity) = (About::new(root.clone()), Activity::default());
        let (load, bus, systemd) = (CpuReadings::default(), DBus::system(), Systemd::default());
        Self { root, board, firmware, sensors, about, activity, load, bus, systemd }
    }
}

/// The error when a required source cannot be read: `capability_missing` when it does not exist, `unavailable`
/// otherwise. `what` is what was wanted.
pub fn unreadable(what: &str, fault: &io::Error) -> ToolError {
    let message = format!("{what} cannot be read: {fault}");
    match fault.kind() {
        io::ErrorKind::NotFound => ToolError::missing(message).hint("is /proc mounted, and visible to this service?"),
        io::ErrorKind::PermissionDenied => ToolError::unavailable(message)
            .hint("let the server's user read it; the unit's sandbox settings may hide it (ProtectProc=, ProtectKernelTunables=)"),
        _ => ToolError::unavailable(message).hint("try again; if it stays, this kernel writes a format we do not know"),
    }
    .with("resource", what)
}
