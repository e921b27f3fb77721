//! Scheduled reboots and shutdowns. One at a time, cancellable, on the card before the answer, and never lost silently:
//! an agent that starts later either keeps the schedule or reports why not.

mod halted;
mod restarts;
mod scheduled;

pub(super) use restarts::Restarts;
pub use scheduled::{PastPower, PowerOutcome, Scheduled};

use super::{
    clock::Clock,
    files,
    machine::{MachineControl, PowerAction},
};
use base::error::{ErrorCode, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio::task::AbortHandle;

/// Longest delay (docs/contract/system.md).
pub const MAX_DELAY_SECONDS: u32 = 600;
/// How late a scheduled action may still run after the agent was away; later the machine may be in use again.
const GRACE_MS: i64 = 600_000;
/// Minimum delay, so that the answer reaches its caller.
const SHORTEST: Duration = Duration::from_millis(500);
const HOUR_MS: i64 = 3_600_000;
/// systemd forces a stuck reboot after this time (reboot.target's JobTimeoutSec).
const STUCK_MS: i64 = HOUR_MS / 2;

/// A reboot or shutdown that is to be scheduled.
pub(super) struct PowerOrder {
    pub(super) action: PowerAction,
    /// At most 600.
    pub(super) delay_seconds: u32,
    pub(super) reason: Option<String>,
    pub(super) principal: String,
    /// What a restart hands to the firmware.
    pub(super) argument: Option<String>,
    /// A call of a tool orders it, so a halt cancels it.
    pub(super) called: bool,
}

impl PowerOrder {
    /// An ordinary restart that no call of a tool orders by itself: of an update, a rollback or a restore.
    pub(super) fn reboot(delay_seconds: u32, reason: String, principal: String) -> Self {
        let (action, reason) = (PowerAction::Reboot, Some(reason));
        Self { action, delay_seconds, reason, principal, argument: None, called: false }
    }
}

/// The release in the other slot may have written it.
#[derive(Default, Clone, Serialize, Deserialize)]
struct OnCard {
    #[serde(default)]
    pending: Option<Pending>,
    #[serde(default)]
    last: Option<PastPower>,
    /// Times of reboots begun within the last hour.
    #[serde(default)]
    recent_ms: Vec<i64>,
    /// Fields of another release.
    #[serde(flatten)]
    more: Map<String, Value>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Pending {
    scheduled: Scheduled,
    /// The boot in which it was scheduled.
    boot_id: String,
    /// The machine was told to go down.
    begun: bool,
    /// The argument for the firmware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    argument: Option<String>,
    /// A call of a tool ordered it, so a halt cancels it.
    #[serde(default)]
    called: bool,
}

#[derive(Default)]
struct Now {
    card: OnCard,
    timer: Option<AbortHandle>,
}

/// Cheap to clone.
#[derive(Clone)]
pub(super) struct Power(Arc<Inner>);

struct Inner {
    path: PathBuf,
    clock: Clock,
    machine: Arc<dyn MachineControl>,
    per_hour: usize,
    now: Mutex<Now>,
    /// Notified of restarts.
    told: OnceLock<Arc<dyn Restarts>>,
}

impl Power {
    /// Loads the state of the previous agent, and keeps its schedule or reports why not. Must be called inside the
    /// runtime.
    pub(super) fn load(
        folder: &Path,
        clock: Clock,
        machine: Arc<dyn MachineControl>,
        per_hour: usize,
        faults: &mut Vec<String>,
    ) -> Result<Self, ToolError> {
        let path = folder.join("power.json");
        let card: Option<OnCard> = files::read_state(&path, "a scheduled reboot may be lost", faults)?;
        let card = card.unwrap_or_default();
        let power = Self(Arc::new(Inner {
            path,
            clock,
            machine,
            per_hour,
            now: Mutex::new(Now { card, timer: None }),
            told: OnceLock::new(),
        }));
        if let Err(error) = power.resume() {
            faults.push(error.into_message());
        }
        Ok(power)
    }

    fn resume(&self) -> Result<(), ToolError> {
        let mut now = self.lock();
        let Some(pending) = now.card.pending.clone() else { return Ok(()) };
        let restarted = pending.boot_id != self.0.machine.boot_id();
        let late_ms = (self.0.clock)() - pending.scheduled.at_ms;
        let (outcome, note) = match (restarted, pending.begun) {
            (true, true) => (PowerOutcome::Done, None),
            (true, false) => (PowerOutcome::Overtaken, Some("the machine restarted before the time".to_owned())),
            (false, true) => (PowerOutcome::Failed, Some("the machine was told to go down and did not".to_owned())),
            (false, false) if late_ms > GRACE_MS => {
                (PowerOutcome::Missed, Some(format!("the agent was not running until {} s after it", late_ms / 1000)))
            }
            (false, false) => {
                tracing::warn!(target: "agent", at_ms = pending.scheduled.at_ms, action = pending.scheduled.action.name(), "resumed");
                self.arm(&mut now, &pending);
                return Ok(());
            }
        };
        tracing::warn!(target: "agent", ?outcome, note, "what the run before had scheduled");
        self.settle(&mut now, outcome, note)
    }

    /// Schedules a reboot or shutdown; it is on the card when this returns.
    ///
    /// # Errors
    /// `conflict` when one is scheduled already, `resource_exhausted` after too many in an hour, `invalid_argument` for
    /// a delay over 600 s, `unavailable` when it cannot be stored.
    pub(super) fn schedule(&self, order: PowerOrder) -> Result<Scheduled, ToolError> {
        let PowerOrder { action, delay_seconds, reason, principal, argument, called } = order;
        if delay_seconds > MAX_DELAY_SECONDS {
            return Err(ToolError::invalid(format!("a {} can wait {MAX_DELAY_SECONDS} s at most", action.name()))
                .with("parameter", "delay_seconds")
                .with("provided_value", delay_seconds));
        }
        let now_ms = (self.0.clock)();
        let mut now = self.lock();
        self.give_up(&mut now, now_ms);
        self.may_schedule(&mut now.card, now_ms)?;
        let scheduled = Scheduled {
            action,
            at_ms: now_ms + i64::from(delay_seconds) * 1000,
            reason,
            principal,
            simulated: self.0.machine.is_simulated(),
        };
        let pending =
            Pending { scheduled: scheduled.clone(), boot_id: self.0.machine.boot_id(), begun: false, argument, called };
        let mut card = now.card.clone();
        card.pending = Some(pending.clone());
        self.save(&card)?;
        now.card = card;
        self.arm(&mut now, &pending);
        Ok(scheduled)
    }

    /// Whether one could be scheduled now, so that no approval is consumed in vain. Changes nothing.
    ///
    /// # Errors
    /// As [`Power::schedule`].
    pub(super) fn check(&self) -> Result<(), ToolError> {
        let (now_ms, mut now) = ((self.0.clock)(), self.lock());
        self.give_up(&mut now, now_ms);
        self.may_schedule(&mut now.card, now_ms)
    }

    fn may_schedule(&self, card: &mut OnCard, now_ms: i64) -> Result<(), ToolError> {
        if let Some(pending) = &card.pending {
            let action = pending.scheduled.action;
            return Err(ToolError::new(ErrorCode::Conflict, format!("a {} is scheduled already", action.name()))
                .with("action", action.name())
                .with("at", contract::audit::rfc3339(pending.scheduled.at_ms))
                .with("principal", pending.scheduled.principal.clone())
                .hint(format!("cancel it first: {} with cancel = true", action.tool())));
        }
        // By distance, not by order: a wrong clock must not block reboots.
        card.recent_ms.retain(|at| (now_ms - at).abs() < HOUR_MS);
        if card.recent_ms.len() >= self.0.per_hour {
            let oldest = card.recent_ms.iter().min().map_or(now_ms, |oldest| oldest.saturating_add(HOUR_MS));
            let minutes = oldest.saturating_sub(now_ms).max(0).unsigned_abs().div_ceil(60_000);
            return Err(ToolError::exhausted(format!(
                "{} reboots within the hour; no more are begun",
                card.recent_ms.len()
            ))
            .with("limit_per_hour", self.0.per_hour)
            .with("retry_after_minutes", minutes)
            .hint(format!(
                "the next one is possible in {minutes} minutes; find out meanwhile why reboots do not help"
            )));
        }
        Ok(())
    }

    /// Cancels a scheduled `action`. Returns whether there was one.
    ///
    /// # Errors
    /// `conflict` when it has begun, or is the other action; `unavailable` when that cannot be stored.
    pub(super) fn cancel(&self, action: PowerAction) -> Result<bool, ToolError> {
        let mut now = self.lock();
        match &now.card.pending {
            None => return Ok(false),
            Some(Pending { scheduled, .. }) if scheduled.action != action => {
                let (has, tool) = (scheduled.action.name(), scheduled.action.tool());
                return Err(ToolError::new(ErrorCode::Conflict, format!("a {has} is scheduled, no {}", action.name()))
                    .hint(format!("cancel it with {tool}")));
            }
            Some(pending) if pending.begun => {
                let why = format!("the {} has begun and cannot be cancelled", action.name());
                return Err(ToolError::new(ErrorCode::Conflict, why));
            }
            Some(_) => {}
        }
        let reason = now.card.pending.as_ref().and_then(|pending| pending.scheduled.reason.clone());
        self.settle(&mut now, PowerOutcome::Cancelled, None)?;
        if let Some(timer) = now.timer.take() {
            timer.abort();
        }
        drop(now);
        if let Some(told) = self.0.told.get().filter(|_| action == PowerAction::Reboot) {
            told.cancelled(reason.as_deref());
        }
        Ok(true)
    }

    /// How long no reboot can be scheduled, as far as known; `None` when one can be now.
    pub(super) fn wait(&self) -> Option<Duration> {
        let (now_ms, mut now) = ((self.0.clock)(), self.lock());
        self.give_up(&mut now, now_ms);
        let pending = now.card.pending.as_ref().map(|pending| {
            let after = if pending.begun { STUCK_MS } else { HOUR_MS / 60 };
            pending.scheduled.at_ms.saturating_add(after)
        });
        let free = pending.or_else(|| {
            let recent = || now.card.recent_ms.iter().filter(|at| (now_ms - **at).abs() < HOUR_MS);
            let full = recent().count() >= self.0.per_hour;
            full.then(|| recent().min().map_or(now_ms, |oldest| oldest.saturating_add(HOUR_MS)))
        });
        free.map(|at| Duration::from_millis(u64::try_from(at.saturating_sub(now_ms)).unwrap_or(0)))
    }

    /// Gives up on a machine that was told to go down but is still running after this long, so that a new order is
    /// possible.
    fn give_up(&self, now: &mut Now, now_ms: i64) {
        let stuck = |pending: &Pending| pending.begun && (now_ms - pending.scheduled.at_ms).abs() >= STUCK_MS;
        if now.card.pending.as_ref().is_some_and(stuck) {
            let note = Some("the machine was told to go down and did not".to_owned());
            if let Err(error) = self.settle(now, PowerOutcome::Failed, note) {
                tracing::error!(target: "agent", %error, "that a restart never came could not be noted");
            }
        }
    }

    pub(super) fn pending(&self) -> Option<Scheduled> {
        self.lock().card.pending.as_ref().map(|pending| pending.scheduled.clone())
    }

    pub(super) fn last(&self) -> Option<PastPower> {
        self.lock().card.last.clone()
    }

    fn arm(&self, now: &mut Now, pending: &Pending) {
        let wait = u64::try_from(pending.scheduled.at_ms - (self.0.clock)()).unwrap_or(0);
        let power = self.clone();
        let task = base::task::spawn(async move {
            tokio::time::sleep(Duration::from_millis(wait).max(SHORTEST)).await;
            power.fire();
        });
        now.timer = Some(task.abort_handle());
    }

    /// Registers who is notified of restarts.
    pub(super) fn tell(&self, told: Arc<dyn Restarts>) {
        // Set once, at start.
        let _ = self.0.told.set(told);
    }

    fn fire(&self) {
        let argument = self.begin_pending();
        // Outside the lock: the receiver may request the next restart.
        if let Some(argument) = argument
            && let Some(told) = self.0.told.get()
        {
            told.simulated(argument.as_deref());
        }
    }

    /// Tells the machine to go down. Returns the firmware argument if it is a simulated one that restarts.
    fn begin_pending(&self) -> Option<Option<String>> {
        let mut now = self.lock();
        let at = (self.0.clock)();
        let pending = now.card.pending.as_mut()?;
        pending.begun = true;
        let (action, mut argument) = (pending.scheduled.action, pending.argument.clone());
        if action == PowerAction::Reboot && argument.is_none() {
            argument = self.0.told.get().and_then(|told| told.argument());
        }
        now.card.recent_ms.push(at);
        // Stored before the act, or the next start would take it for one still to come. A failed write does not prevent
        // it: a reboot may be the remedy.
        if let Err(error) = self.save(&now.card) {
            tracing::error!(target: "agent", %error, action = action.name(), "begun without a note of it");
        }
        if let Some(told) = self.0.told.get() {
            told.before(action, argument.as_deref());
        }
        let told = match &argument {
            Some(argument) => self.0.machine.restart_with(argument),
            None => self.0.machine.schedule_power(action),
        };
        let restarted = told.is_ok() && action == PowerAction::Reboot;
        let outcome = match told {
            Ok(()) if self.0.machine.is_simulated() => (PowerOutcome::Simulated, None),
            // The machine goes down now; the agent's next start records the outcome.
            Ok(()) => return None,
            Err(error) => (PowerOutcome::Failed, Some(error.into_message())),
        };
        tracing::warn!(target: "agent", outcome = ?outcome.0, note = outcome.1, "{}", action.name());
        if let Err(error) = self.settle(&mut now, outcome.0, outcome.1) {
            tracing::error!(target: "agent", %error, "the outcome of a {} could not be noted", action.name());
        }
        restarted.then_some(argument)
    }

    /// Records the outcome of the pending action.
    fn settle(&self, now: &mut Now, outcome: PowerOutcome, note: Option<String>) -> Result<(), ToolError> {
        let mut card = now.card.clone();
        if let Some(pending) = card.pending.take() {
            card.last = Some(PastPower { scheduled: pending.scheduled, outcome, note });
        }
        self.save(&card)?;
        now.card = card;
        Ok(())
    }

    fn save(&self, card: &OnCard) -> Result<(), ToolError> {
        let json = serde_json::to_vec(card).map_err(|error| ToolError::internal(format!("power.json: {error}")))?;
        files::replace(&self.0.path, &json)
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.0.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
