//! How a real machine gets its name: by systemd-hostnamed, which keeps it and tells the kernel.

use super::{Machine, RealMachine};
use base::{
    error::ToolError,
    os::{blocking, bus::Object, host_name},
};

const HOSTNAMED: Object<'_> = Object {
    service: "org.freedesktop.hostname1",
    path: "/org/freedesktop/hostname1",
    interface: "org.freedesktop.hostname1",
};
/// What it says when `/etc/hostname` cannot be replaced: of a read-only `/etc` in words of its own, and of a file that is mounted where it
/// lies by the error's number (systemd 252 to 257, sd-bus-errors(3)).
const MOUNTED: [&str; 3] = ["org.freedesktop.hostname1.ReadOnlyFilesystem", "System.Error.EROFS", "System.Error.EBUSY"];

/// See [`Machine::set_hostname`].
pub(super) async fn set(machine: &RealMachine, name: &str) -> Result<(), ToolError> {
    let kept = || host_name::kept(&machine.root).is_some_and(|kept| kept == name);
    if kept() && machine.hostname()? == name {
        return Ok(());
    }
    // It replaces /etc/hostname, wherever an image keeps it. `false`: nobody to ask.
    let refused = machine.bus.call(HOSTNAMED, "SetStaticHostname", &(name, false)).await.err();
    if let Some(error) = refused.filter(|error| !is_mounted(error)) {
        return Err(error);
    }
    // Looked at in any case: what it could not write it takes for written, and a second time it says so.
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
    // It reads the file again. This also takes the place of a name that DHCP or a person set for this start only.
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
