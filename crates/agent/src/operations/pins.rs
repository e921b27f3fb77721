//! Reads the pins of a Raspberry Pi through their registers. Read-only.

use super::Operation;
use crate::context::Context;
use base::error::ToolError;
use hw::gpio::pin_cache::PinLook;
use serde::{Deserialize, Serialize};

/// The tool that this serves; disabling that tool disables this operation.
const LIST: &str = "gpio.list_pins";

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct variant Op::LookAtPins")]
pub struct PinsRequest {}

/// Every pin of the header except the agent's own, as read from the registers.
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
