//! A look at the pins of a Raspberry Pi through their registers. Nothing is changed.

use super::Operation;
use crate::context::Context;
use base::error::ToolError;
use hw::gpio::pin_cache::PinLook;
use serde::{Deserialize, Serialize};

/// The tool whose answers it belongs to; who switches that off switches this off.
const LIST: &str = "gpio.list_pins";

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct variant Op::LookAtPins")]
pub struct PinsRequest {}

/// Every pin of the header but the agent's own, as the registers have it.
pub struct ReadPins;

impl Operation for ReadPins {
    const TAG: &'static str = "look_at_pins";
    const ANSWER: &'static str = "pins";
    type Request = PinsRequest;
    type Answer = Vec<PinLook>;

    async fn run(cx: &Context<'_>, _request: PinsRequest) -> Result<Vec<PinLook>, ToolError> {
        cx.policy().check_read(LIST)?;
        let own = cx.settings.approval.pins();
        let mut looks = cx.header.look()?;
        looks.retain(|look| !own.contains(&look.pin));
        Ok(looks)
    }
}
