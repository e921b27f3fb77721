//! `serial.*`: serial ports, open for one caller at a time (docs/contract/serial.md).
//!
//! The server does this itself, as a member of the group dialout, without the agent. [`hw::serial`] has the ports, their
//! leases and buffers, the allow-list and the error texts.

mod close;
mod info;
mod list_ports;
mod open;
mod read;
mod write;

use crate::registry::{context::Context, row::ToolRow};
use base::error::ToolError;
use contract::config::is_port;
use hw::gpio::lease::Owner;
use serde::{Deserialize, Deserializer, de::Error};

pub static TOOLS: &[ToolRow] = &[
    ToolRow::of::<list_ports::ListPorts>(),
    ToolRow::of::<open::Open>(),
    ToolRow::of::<read::Read>(),
    ToolRow::of::<write::Write>(),
    ToolRow::of::<close::Close>(),
];

/// What [`is_port`] accepts, with [`contract::config::PORT_NAME_BYTES`].
const PORT: &str = "^[A-Za-z0-9_:+@,-][A-Za-z0-9._:+@,-]*(/[A-Za-z0-9_:+@,-][A-Za-z0-9._:+@,-]*)*$";

/// The name of a port: a path below `/dev`.
fn port<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if is_port(&text) {
        return Ok(text);
    }
    Err(D::Error::custom(format!("{text:?} is no port like \"ttyUSB0\", a path below /dev")))
}

/// Whether this caller may open the port, and write to it: by a grant of serial.open or serial.write, or by the
/// configuration where that counts for the caller. What may be written may be opened.
fn allowed(cx: &Context, port: &str) -> (bool, bool) {
    let (opens, writes) = cx.services.serial.allow().on(port);
    let (open, write) = (cx.reach("serial.open"), cx.reach("serial.write"));
    let writes = write.has_device_file(port) || write.listed && writes;
    let granted = open.has_device_file(port) || write.has_device_file(port);
    (granted || open.listed && opens, writes)
}

/// # Errors
/// `permission_denied` if the port is out of this caller's reach, or out of its reach for writing.
fn permit(cx: &Context, port: &str, verb: &str) -> Result<(), ToolError> {
    let (opens, writes) = allowed(cx, port);
    if if verb == "write" { writes } else { opens } {
        return Ok(());
    }
    let tool = if verb == "write" { "serial.write" } else { "serial.open" };
    cx.reach(tool)
        .check_listed(port)
        .map_err(|error| error.with("port", port).with("required_permission", format!("serial:{verb}:{port}")))?;
    Err(cx.services.serial.allow().refusal(port, verb))
}

/// Marks answers of a simulated board, and says who calls.
fn begin(cx: &Context) -> Owner {
    if cx.services.machine.board.is_simulated() {
        cx.notes.simulated();
    }
    Owner::of(&cx.caller)
}
