//! The services of a simulated machine, which its agent has: the ones that `service.restart` and its like act on.

use crate::services::Services;
use agent::{
    operations::service::{ListSimulatedServices, SimulatedServicesRequest},
    units::Unit,
};
use base::error::{ErrorCode, ToolError};

/// The services, by name; `None` where the bus has to be read: on a real machine, and beside an agent that simulates none.
///
/// # Errors
/// `permission_denied` where the agent's own settings have the tool switched off.
pub(super) async fn services(services: &Services) -> Result<Option<Vec<Unit>>, ToolError> {
    if !services.machine.board.is_simulated() {
        return Ok(None);
    }
    match services.agent.call::<ListSimulatedServices>(SimulatedServicesRequest {}).await {
        Ok(units) => Ok((!units.is_empty()).then_some(units)),
        Err(error) if error.code == ErrorCode::PermissionDenied => Err(error),
        Err(error) => {
            tracing::debug!(target: "service", %error, "no simulated services; the bus is read");
            Ok(None)
        }
    }
}

/// In place of what a unit's file says.
pub(super) fn description(unit: &Unit) -> String {
    format!("{}, simulated", unit.id.strip_suffix(".service").unwrap_or(&unit.id))
}
