//! Restarts into the armed slot.

use crate::{
    authorization::Authorization,
    context::Context,
    installer::{System, UpdateTool, into},
    machine::PowerAction,
    operations::{CARD, Operation},
    peer::{Callers, PeerKind},
    power::{PowerOrder, Scheduled},
};
use base::{error::ToolError, os::blocking};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;
use update::{
    job::{AUTOMATIC, plan::UpdatePlan},
    slots::{self, PendingUpdate},
    status::RestartPlan,
};

/// A restart into the armed slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RebootIntoRequest {
    pub tool: UpdateTool,
    /// 0 to 600.
    pub delay_seconds: u32,
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// Restarts into the armed slot. An admitted install needs no further approval.
pub struct RebootIntoUpdate;

impl Operation for RebootIntoUpdate {
    const TAG: &'static str = "reboot_into_update";
    const ANSWER: &'static str = "power";
    // At the console: a person who may approve an update may install one.
    const CALLERS: Callers = Callers::Anyone;
    const WAITS: bool = true;
    const CHANGES: bool = true;
    type Request = RebootIntoRequest;
    type Answer = Scheduled;

    fn patience(_request: &RebootIntoRequest) -> Duration {
        CARD
    }

    async fn run(cx: &Context<'_>, request: RebootIntoRequest) -> Result<Scheduled, ToolError> {
        let note = json!(request);
        let result = restart(cx, request).await;
        cx.noted(Self::TAG, note, result)
    }
}

async fn restart(cx: &Context<'_>, request: RebootIntoRequest) -> Result<Scheduled, ToolError> {
    let tool = request.tool;
    cx.allows(tool.name(), &request.authorization)?;
    let system = cx.installer.system()?;
    cx.installer.lock.must_be_free()?;
    let Some(armed) = system.armed() else {
        return Err(ToolError::precondition("nothing is installed that waits for a restart")
            .hint("manage.get_update_status shows how far an update is"));
    };
    let (version, principal) = (armed.version.clone(), &request.authorization.principal);
    let let_in = armed.manifest.is_some_and(|manifest| cx.installer.admissions.holds(manifest, tool, principal));
    if !let_in && cx.peer.standing != PeerKind::Approver {
        cx.admit(tool.name(), &request.authorization, |args| shows_armed(args, &system, &armed))?;
    }
    // From here on it is a plan, which survives the end of this agent and a refused restart. An explicit order applies
    // now; an automatic one waits for its window.
    let by_itself = principal == AUTOMATIC && armed.restart == RestartPlan::InWindow;
    let plan = if by_itself { RestartPlan::InWindow } else { RestartPlan::Soon };
    let record = system.record.clone();
    blocking::run("update", move |_| {
        record.step(|state| slots::plan_restart(state, plan, ""))?;
        // Whatever it waited for: an order applies now.
        record.step(slots::end_wait)
    })
    .await?;
    // A reboot that is scheduled already leads to the same slot.
    if let Some(reboot) = cx.power.pending().filter(|next| next.action == PowerAction::Reboot) {
        return Ok(reboot);
    }
    let (argument, reason) = (system.trial_argument(), into(&version));
    let (delay, principal) = (request.delay_seconds, request.authorization.principal);
    cx.power
        .schedule(PowerOrder { argument, ..PowerOrder::reboot(delay, reason, principal) })
        .inspect(|_| cx.installer.plan_changed(false))
        .map_err(|error| cx.installer.later(error))
}

/// Whether the person approved the armed version, or its plan.
fn shows_armed(args: &Value, system: &System, armed: &PendingUpdate) -> bool {
    let named = |name: &str| args.get(name).filter(|value| !value.is_null());
    let ledger = system.record.ledger();
    let running = armed.target.other();
    let from = ledger.state().slots.of(running).version.clone().unwrap_or_default();
    let hash = armed.manifest.map(|manifest| {
        let plan =
            UpdatePlan { manifest: &manifest, to_version: &armed.version, from_version: &from, target: armed.target };
        plan.hash().to_string()
    });
    named("target_version").is_none_or(|named| *named == armed.version)
        && named("plan_hash").is_none_or(|named| hash.is_some_and(|hash| *named == hash))
        && named("dry_run") != Some(&json!(true))
}
