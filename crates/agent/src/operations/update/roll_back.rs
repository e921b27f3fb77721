//! Rollback: out of a trial, away from an armed or half-written slot, or to the version that ran before.

use crate::{
    authorization::Authorization,
    context::Context,
    installer::{System, into},
    operations::{CARD, Operation},
    peer::{Callers, PeerKind},
    power::PowerOrder,
};
use base::{error::ToolError, os::blocking};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use update::{
    Slot,
    slots::{self, Act, BootState, FailedTrial, Stage, StateRecord, Step},
    status::{Phase, SlotState},
};

const TOOL: &str = "manage.rollback";
/// Delay of the restart in seconds, so that the answer reaches the caller.
const SOON: u32 = 2;

/// What a rollback would do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The trial is marked as failed, and a plain restart ends it.
    OutOfTrial,
    /// An armed slot is not tried; a half-written one is given up.
    Forget,
    /// The other slot is tried.
    ToOther,
}

/// A rollback: out of a trial, away from an armed slot, or to the slot that ran before a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollBackRequest {
    /// Judge it and change nothing.
    pub dry_run: bool,
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// The outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolledBack {
    /// The running slot.
    pub from: Slot,
    pub from_version: Option<String>,
    /// The slot that will run.
    pub to: Slot,
    pub to_version: Option<String>,
    /// Whether the machine restarts for it. Not for an armed slot, which is just not tried.
    pub restarts: bool,
    pub simulated: bool,
}

/// Rolls back: out of a trial, away from an armed slot, or to the other slot.
pub struct RollBack;

impl Operation for RollBack {
    const TAG: &'static str = "roll_back";
    const ANSWER: &'static str = "rolled_back";
    // At the console: a person who may approve an update may roll one back.
    const CALLERS: Callers = Callers::Anyone;
    const WAITS: bool = true;
    const CHANGES: bool = true;
    type Request = RollBackRequest;
    type Answer = RolledBack;

    fn patience(_request: &RollBackRequest) -> Duration {
        CARD
    }

    fn was_shown(_request: &RollBackRequest, args: &Value) -> bool {
        args.get("dry_run").is_none_or(|dry| *dry != json!(true))
    }

    async fn run(cx: &Context<'_>, request: RollBackRequest) -> Result<RolledBack, ToolError> {
        let result = roll_back(cx, &request).await;
        cx.noted(Self::TAG, json!(request), result)
    }
}

async fn roll_back(cx: &Context<'_>, request: &RollBackRequest) -> Result<RolledBack, ToolError> {
    let system = cx.installer.system()?;
    let due = cx.installer.dead_man_is_due(&system, &request.authorization.principal);
    if !due {
        cx.allows(TOOL, &request.authorization)?;
    }
    cx.installer.lock.must_be_free()?;
    let looked = Arc::clone(&system);
    let (way, rolled) = blocking::run("update", move |_| plan(&looked)).await?;
    if rolled.restarts {
        cx.power.check()?;
    }
    if request.dry_run {
        return Ok(rolled);
    }
    // Read before the approval is consumed.
    let log = if way == Way::OutOfTrial { cx.installer.log_tail().await } else { None };
    if cx.peer.standing != PeerKind::Approver && !due {
        cx.admit(TOOL, &request.authorization, |args| RollBack::was_shown(request, args))?;
    }
    let now = (cx.clock)();
    let by = format!("rolled back by {}", request.authorization.principal);
    let done = Arc::clone(&system);
    let reason = by.clone();
    blocking::run("update", move |_| perform(&done, way, &reason, log.as_deref(), now, due)).await?;
    cx.installer.plan_changed(false);
    if rolled.restarts {
        let other = way == Way::ToOther;
        let argument = if other { system.trial_argument() } else { None };
        let why = if other { into(rolled.to_version.as_deref().unwrap_or("factory")) } else { by };
        let principal = request.authorization.principal.clone();
        let scheduled = cx.power.schedule(PowerOrder { argument, ..PowerOrder::reboot(SOON, why, principal) });
        scheduled.map_err(|error| if other { cx.installer.later(error) } else { error })?;
    }
    Ok(rolled)
}

fn plan(system: &System) -> Result<(Way, RolledBack), ToolError> {
    // Locked before the ledger: the lock order.
    let in_trial = matches!(&*system.standing(), BootState::Trial(_));
    let ledger = system.record.ledger();
    let (state, seen) = (ledger.state(), ledger.evidence());
    let running = seen.running().ok_or_else(|| {
        ToolError::missing("this system runs from neither slot of the card")
            .hint("`raspi-mcp doctor --update` shows what is found")
    })?;
    let stage = state.update.as_ref().map(|update| update.stage);
    let way = match stage {
        _ if in_trial => Way::OutOfTrial,
        Some(Stage::Writing | Stage::Written | Stage::Verified | Stage::Armed) => Way::Forget,
        _ => Way::ToOther,
    };
    if way == Way::ToOther {
        // Refuses what is impossible before a person is asked.
        let _ = slots::roll_back(state, &seen, "", 0)?;
    }
    let version = |slot: Slot| state.slots.of(slot).version.clone();
    let to = if way == Way::Forget { running } else { running.other() };
    let rolled = RolledBack {
        from: running,
        from_version: version(running),
        to,
        to_version: version(to),
        restarts: way != Way::Forget,
        simulated: system.card.board.is_some(),
    };
    Ok((way, rolled))
}

/// `by_itself`: automatic, not requested.
fn perform(
    system: &System,
    way: Way,
    reason: &str,
    log: Option<&str>,
    now_ms: i64,
    by_itself: bool,
) -> Result<(), ToolError> {
    match way {
        Way::OutOfTrial => {
            let standing = system.standing();
            let BootState::Trial(trial) = &*standing else {
                return Err(ToolError::precondition("the trial ended meanwhile").hint("ask for the update's status"));
            };
            let log_tail = log.map(str::to_owned);
            let failed = FailedTrial { reason: reason.into(), by_person: true, log_tail, ..FailedTrial::default() };
            system.record.step(|state| slots::condemn(state, trial, failed.clone()))
        }
        Way::Forget => system.record.step(|state| forget(state, reason, now_ms, by_itself)),
        Way::ToOther => {
            let mut ledger = system.record.ledger();
            let mut step = slots::roll_back(ledger.state(), &ledger.evidence(), reason, now_ms)?;
            if let Some(update) = step.state.as_mut().and_then(|state| state.update.as_mut()) {
                update.by_itself = by_itself;
            }
            ledger.perform(&step)
        }
    }
}

/// Forgets what is armed or half written. The running slot remains the default.
fn forget(state: &StateRecord, reason: &str, now_ms: i64, by_itself: bool) -> Result<Step, ToolError> {
    let Some(update) = &state.update else { return Ok(Step::default()) };
    let mut next = state.clone();
    if !by_itself && update.kind == slots::TrialKind::Install {
        next.taken_back(update, reason);
    }
    if update.stage != Stage::Armed {
        return slots::failed(&next, update.target, reason, now_ms);
    }
    let (target, kind) = (update.target, update.kind);
    next.update = None;
    let record = next.slots.of_mut(target);
    let back = kind == slots::TrialKind::Rollback;
    // A slot armed for a rollback is as good as it was before.
    record.state = if back { SlotState::Good } else { SlotState::Bad };
    record.barred = !back;
    record.note = (!back).then(|| reason.to_owned());
    if let Some(attempt) = &mut next.last_attempt {
        attempt.phase = Phase::RolledBack;
        attempt.reason = reason.to_owned();
        attempt.finished_ms = Some(now_ms);
    }
    let after = if back { Vec::new() } else { vec![Act::ZeroHead(target)] };
    Ok(Step { before: vec![Act::Disarm], state: Some(next), after })
}
