//! Setting a real machine's time zone through systemd-timedated, which replaces the link `/etc/localtime`.

use super::RealMachine;
use base::{
    error::ToolError,
    os::{Root, bus::DBusObject, clock},
};

const TIMEDATED: DBusObject<'_> = DBusObject {
    service: "org.freedesktop.timedate1",
    path: "/org/freedesktop/timedate1",
    interface: "org.freedesktop.timedate1",
};

/// See [`super::MachineControl::timezone`].
pub(super) fn of(root: &Root) -> Result<String, ToolError> {
    match clock::zone(root) {
        Ok(zone) => Ok(zone.name),
        Err(error) => Err(ToolError::unavailable(format!("the time zone cannot be read: {error}"))),
    }
}

/// See [`super::MachineControl::set_timezone`].
pub(super) async fn set(machine: &RealMachine, name: &str) -> Result<(), ToolError> {
    // `false`: no interactive authorization.
    let told = machine.bus.call(TIMEDATED, "SetTimezone", &(name, false)).await;
    told.map_err(|error| {
        let is_read_only = error.message.to_lowercase().contains("read-only");
        if is_read_only { error.hint("/etc/localtime has to be replaced, and /etc is read-only here") } else { error }
    })?;
    // A zone without rules, like UTC, may have other names.
    match of(&machine.root)? {
        now if now == name => Ok(()),
        now => Err(ToolError::unavailable(format!("the time zone was set, but it is still {now}"))
            .hint("look at /etc/localtime on the device, and at `systemctl status systemd-timedated`")),
    }
}
