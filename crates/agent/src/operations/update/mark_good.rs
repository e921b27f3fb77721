//! Commits a trial on a person's order.

use crate::{
    authorization::Authorization,
    context::Context,
    operations::{CARD, Operation},
    peer::{Callers, PeerKind},
};
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;
use update::{Slot, slots::BootState, status::SlotState};

const TOOL: &str = "manage.mark_good";

/// A person's order to commit a trial. The checks must agree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkGoodRequest {
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// The outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkedGood {
    pub slot: Slot,
    pub version: Option<String>,
    /// Its state before.
    pub before: SlotState,
    pub simulated: bool,
}

/// Commits the running trial if the checks of both halves agree, or makes an unrecorded slot the default.
pub struct MarkGood;

impl Operation for MarkGood {
    const TAG: &'static str = "mark_good";
    const ANSWER: &'static str = "marked_good";
    // At the console: a person who may approve an update may commit one.
    const CALLERS: Callers = Callers::Anyone;
    const WAITS: bool = true;
    const CHANGES: bool = true;
    type Request = MarkGoodRequest;
    type Answer = MarkedGood;

    fn patience(_request: &MarkGoodRequest) -> Duration {
        CARD
    }

    fn was_shown(_request: &MarkGoodRequest, _args: &Value) -> bool {
        // It has no arguments.
        true
    }

    async fn run(cx: &Context<'_>, request: MarkGoodRequest) -> Result<MarkedGood, ToolError> {
        let result = mark_good(cx, &request).await;
        cx.noted(Self::TAG, json!(request), result)
    }
}

async fn mark_good(cx: &Context<'_>, request: &MarkGoodRequest) -> Result<MarkedGood, ToolError> {
    cx.allows(TOOL, &request.authorization)?;
    let system = cx.installer.system()?;
    let (slot, version, before) = {
        let ledger = system.record.ledger();
        let running = ledger.evidence().running().ok_or_else(|| {
            ToolError::missing("this system runs from neither slot of the card")
                .hint("`raspi-mcp doctor --update` shows what is found")
        })?;
        let record = ledger.state().slots.of(running);
        (running, record.version.clone(), record.state)
    };
    let trial = matches!(&*system.standing(), BootState::Trial(_));
    let mut problems = cx.installer.own_verdict().await.problems;
    if trial {
        match &cx.installer.boot.now().report {
            Some(report) if report.healthy => {}
            Some(report) => problems.extend(report.problems.iter().cloned()),
            None => problems.push("the server half has not said yet that it is well".into()),
        }
    }
    if !problems.is_empty() {
        return Err(ToolError::precondition(format!("slot {slot} is not well: {}", problems.join("; ")))
            .with("problems", problems)
            .hint("mend that first; manage.rollback goes back to the other slot"));
    }
    if cx.peer.standing != PeerKind::Approver {
        cx.admit(TOOL, &request.authorization, |args| MarkGood::was_shown(request, args))?;
    }
    if trial {
        cx.installer.commit(&system).await?;
    } else if before != SlotState::Good {
        cx.installer.tell_chain(&system, true).await?;
    }
    Ok(MarkedGood { slot, version, before, simulated: cx.simulated })
}
