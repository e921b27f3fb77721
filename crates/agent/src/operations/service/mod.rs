//! Services of systemd: jobs, and enabling at boot.

mod control;
mod enable;
mod simulated;

pub use control::{ControlRequest, ControlUnit, Controlled, ServiceState, WAIT};
pub use enable::{EnableRequest, EnableUnit, Enabled};
pub use simulated::{ListSimulatedServices, SimulatedServicesRequest};

use crate::{
    context::Context,
    units::{Unit, allow, reach},
};
use base::{
    error::{ErrorCode, ToolError},
    os::systemd::ServiceName,
};
use serde_json::{Value, json};

/// Looks up the service `given`, if `tool` may touch it for `principal`.
async fn service(cx: &Context<'_>, tool: &str, principal: &str, given: &str, verb: &str) -> Result<Unit, ToolError> {
    let name = ServiceName::parse(given)?;
    let found = match cx.units.look(name.as_str()).await {
        Ok(unit) => Some(unit),
        // systemd rejected the name.
        Err(error) if matches!(error.code, ErrorCode::NotFound | ErrorCode::InvalidArgument) => None,
        Err(error) => return Err(error),
    };
    // The allow-list is checked first: a caller without permission learns nothing about the service.
    let own = [name.as_str().to_owned()];
    allow::check(
        &cx.policy().services(tool, principal),
        found.as_ref().map_or(own.as_slice(), |unit| unit.names.as_slice()),
        verb,
    )?;
    let exists = |unit: &Unit| unit.load_state != "not-found" || unit.status.is_up();
    let Some(unit) = found.filter(exists) else {
        return Err(ToolError::not_found(format!("Service '{given}' not found on this system"))
            .with("service_name", given)
            .hint(if cx.simulated {
                "a simulated machine has its own services: database, web, worker, backup, broken, ..."
            } else {
                "service.list_services names them all"
            }));
    };
    Ok(unit)
}

/// See docs/contract/service.md.
fn refuse_to_break(unit: &Unit, verb: &str, reach: &reach::JobEffects) -> Result<(), ToolError> {
    let dependents: Vec<&String> = reach.stops.iter().chain(&reach.wanted_by).collect();
    if dependents.is_empty() {
        return Ok(());
    }
    let (count, noun) = match dependents.len() {
        1 => ("1".to_owned(), "active unit depends"),
        count => (count.to_string(), "active units depend"),
    };
    Err(ToolError::precondition(format!("Cannot {verb} service '{}' because {count} {noun} on it", unit.id))
        .with("service_name", unit.id.clone())
        .with("dependent_services", json!(dependents))
        .with("would_stop", json!(reach.stops))
        .with(
            "suggestion",
            "Stop dependent services first, or use force=true and confirm_breaking_dependencies=true to override",
        )
        .hint("stop those first; an admin can override with force and confirm_breaking_dependencies"))
}

/// Whether the arguments name the same service, in any spelling.
fn same_service(args: &Value, name: &str) -> bool {
    let parsed = |name: &str| ServiceName::parse(name).ok();
    let shown = args.get("service_name").and_then(Value::as_str).and_then(parsed);
    shown.is_some() && shown == parsed(name)
}
