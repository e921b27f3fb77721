//! Lifts the halt.

use crate::{context::Context, halt::HaltActor, operations::Operation, peer::Callers};
use base::error::ToolError;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiftRequest {}

/// The outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HaltLifted {
    /// Whether there was a halt.
    pub lifted: bool,
}

impl HaltLifted {
    /// For people, one line.
    pub fn text(self) -> &'static str {
        if self.lifted { "lifted: changes are possible again" } else { "this machine is not halted" }
    }
}

/// Accepted from approvers only, never from the server: no tool lifts a halt.
pub struct LiftHalt;

impl Operation for LiftHalt {
    const TAG: &'static str = "lift_halt";
    const ANSWER: &'static str = "halt_lifted";
    const CALLERS: Callers = Callers::Approvers { command: "raspi-mcp halt --lift" };
    const CHANGES: bool = true;
    type Request = LiftRequest;
    type Answer = HaltLifted;

    async fn run(cx: &Context<'_>, _request: LiftRequest) -> Result<HaltLifted, ToolError> {
        let actor = HaltActor { by: cx.peer.name.clone(), how: "raspi-mcp halt --lift".into() };
        Ok(HaltLifted { lifted: cx.halt.lift(actor, cx.peer).await? })
    }
}
