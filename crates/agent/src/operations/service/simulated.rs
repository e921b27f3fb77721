//! The services of a simulated machine. Read-only.

use crate::{context::Context, operations::Operation, units::Unit};
use base::error::ToolError;
use serde::{Deserialize, Serialize};

/// The tool that this serves; disabling that tool disables this operation.
const LIST: &str = "service.list_services";

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct variant Op::SimulatedServices")]
pub struct SimulatedServicesRequest {}

/// Every service of a simulated machine, by name, as `service.restart` and its like find them. None on a real machine: there the
/// server reads systemd itself.
pub struct ListSimulatedServices;

impl Operation for ListSimulatedServices {
    const TAG: &'static str = "simulated_services";
    const ANSWER: &'static str = "services";
    type Request = SimulatedServicesRequest;
    type Answer = Vec<Unit>;

    async fn run(cx: &Context<'_>, _request: SimulatedServicesRequest) -> Result<Vec<Unit>, ToolError> {
        cx.policy().check_read(LIST)?;
        let mut units = cx.units.simulated();
        units.retain(|unit| unit.id.ends_with(".service"));
        Ok(units)
    }
}
