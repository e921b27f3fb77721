//! `service.*`: systemd services: their state, and starting, stopping and enabling them.
//!
//! Reads are D-Bus calls of the server; changes of a unit are operations of the agent, which checks them again.

mod control;
mod control_service;
mod get_status;
mod list_services;
mod recent_logs;
mod restart;
mod running;
mod set_enabled;
mod simulated;
mod start;
mod stop;
mod validate;
mod validate_unit_file;

pub use list_services::names;

use crate::registry::{context::Context, row::ToolRow};
use base::{
    error::ToolError,
    os::systemd::{ServiceName, name},
};
use serde::{Deserialize, Deserializer, de::Error};

pub static TOOLS: &[ToolRow] = &[
    ToolRow::of::<list_services::ListServices>(),
    ToolRow::of::<get_status::GetStatus>(),
    ToolRow::of::<validate_unit_file::ValidateUnitFile>(),
    ToolRow::of::<control_service::ControlService>(),
    ToolRow::of::<start::Start>(),
    ToolRow::of::<stop::Stop>(),
    ToolRow::of::<restart::Restart>(),
    ToolRow::of::<set_enabled::SetEnabled>(),
];

/// Enforces [`name::PATTERN`] in the parser. What the pattern cannot express is checked by [`ServiceName::parse`].
fn service_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    if name::fits(&name) { Ok(name) } else { Err(D::Error::custom("not a name of a service")) }
}

/// Whether the server's configuration allows its tools to use the service at all; the agent's own list decides.
///
/// # Errors
/// `permission_denied` naming the setting, and the permission as `service:verb:name`.
fn permit(cx: &Context, tool: &str, given: &str, verb: &str) -> Result<(), ToolError> {
    let name = ServiceName::parse(given)?;
    let reach = cx.reach(tool);
    if reach.has_unit(name.as_str()) {
        return Ok(());
    }
    let permission = format!("service:{verb}:{}", name.as_str());
    reach.check_listed(name.as_str()).map_err(|error| error.with("required_permission", permission))?;
    if cx.services.machine.board.is_simulated() {
        return Ok(());
    }
    agent::units::allow::check(&cx.services.settings.service.allow, &[name.as_str().to_owned()], verb)
}
