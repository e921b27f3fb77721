//! `service.*`: what runs here by systemd, and starting, stopping and enabling it.
//!
//! Reads are D-Bus calls of this half; what changes a unit is a deed of the agent's, which judges it once more.

mod control;
mod control_service;
mod get_status;
mod list_services;
mod restart;
mod running;
mod set_enabled;
mod start;
mod stop;
mod validate;
mod validate_unit_file;

pub use list_services::names;

use crate::registry::{context::Context, tool::Entry};
use base::{
    error::ToolError,
    os::systemd::{ServiceName, name},
};
use serde::{Deserialize, Deserializer, de::Error};

pub static TOOLS: &[Entry] = &[
    Entry::of::<list_services::ListServices>(),
    Entry::of::<get_status::GetStatus>(),
    Entry::of::<validate_unit_file::ValidateUnitFile>(),
    Entry::of::<control_service::ControlService>(),
    Entry::of::<start::Start>(),
    Entry::of::<stop::Stop>(),
    Entry::of::<restart::Restart>(),
    Entry::of::<set_enabled::SetEnabled>(),
];

/// The parser's half of [`name::PATTERN`]. What the pattern cannot say, [`ServiceName::parse`] does.
fn service_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    if name::fits(&name) { Ok(name) } else { Err(D::Error::custom("not a name of a service")) }
}

/// Whether this server's configuration lets its tools touch the service at all; the agent's own list decides.
///
/// # Errors
/// `permission_denied` naming the setting, and the permission as `service:verb:name`.
fn permit(cx: &Context, tool: &str, given: &str, verb: &str) -> Result<(), ToolError> {
    let name = ServiceName::parse(given)?;
    if cx.services.machine.board.is_simulated() {
        return Ok(());
    }
    let policy = cx.services.policy.held();
    if policy.grants(tool, Some(&cx.caller.principal)).any(|grant| grant.has_unit(name.as_str())) {
        return Ok(());
    }
    agent::units::allow::check(&cx.services.settings.service.allow, &[name.as_str().to_owned()], verb)
}
