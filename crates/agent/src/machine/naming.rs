//! Setting a real machine's host name through systemd-hostnamed, which stores it and sets it in the kernel.

use super::{MachineControl, RealMachine};
use base::{
    error::ToolError,
    os::{blocking, bus::DBusObject, host_name},
};

const HOSTNAMED: DBusObject<'_> = DBusObject {
    service: "org.freedesktop.hostname1",
    path: "/org/freedesktop/hostname1",
    interface: "org.freedesktop.hostname1",
};
/// Its errors when `/etc/hostname` cannot be replaced: an error of its own for a read-only `/etc`, and errno's name for
/// a file that is a mount point (systemd 252 to 257, sd-bus-errors(3)).
const MOUNTED: [&str; 3] = ["org.freedesktop.hostname1.ReadOnlyFilesystem", "System.Error.EROFS", "System.Error.EBUSY"];

/// See [`MachineControl::set_hostname`].
pub(super) async fn set(machine: &RealMachine, name: &str) -> Result<(), ToolError> {
    let kept = || host_name::kept(&machine.root).is_some_and(|kept| kept == name);
    if kept() && machine.hostname()? == name {
        return Ok(());
    }
    // It replaces /etc/hostname, wherever an image keeps it. `false`: no interactive authorization.
    let refused = machine.bus.call(HOSTNAMED, "SetStaticHostname", &(name, false)).await.err();
    if let Some(error) = refused.filter(|error| !is_mounted(error)) {
        return Err(error);
    }
    // Checked in any case: after a failed write hostnamed believes that the name is stored, and reports success the
    // second time.
    if !kept() {
        let (root, name) = (machine.root.clone(), name.to_owned());
        blocking::run("system", move |_| {
            host_name::keep(&root, &name).map_err(|fault| {
                ToolError::unavailable(format!("the name cannot be kept in /etc/hostname: {fault}"))
                    .with("resource", "/etc/hostname")
                    .hint(
                        "it has to be writable for raspi-mcp-agent.service (ReadWritePaths=), on a disk that has room",
                    )
            })
        })
        .await?;
    }
    // It reads the file again. This also replaces a transient name from DHCP or a person.
    let told = machine.bus.call(HOSTNAMED, "SetHostname", &(name, false)).await;
    let later =
        |error: ToolError| error.with("kept", true).hint("it will be the machine's name from its next start on");
    told.map_err(later)?;
    match machine.hostname()? {
        now if now == name => Ok(()),
        now => Err(later(ToolError::unavailable(format!("the name is kept, but the machine is still called {now}")))),
    }
}

fn is_mounted(error: &ToolError) -> bool {
    error.details.get("dbus_error").and_then(|name| name.as_str()).is_some_and(|name| MOUNTED.contains(&name))
}
