//! An armed slot implies a planned restart. The agent keeps the plan until the machine has restarted into that slot or
//! a person cancelled it. It survives the agent's own end, a lost server half, a power cut, and temporary refusals of
//! the restart.

use super::Installer;
use crate::power::PowerOrder;
use base::error::{ErrorCode, ToolError};
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, sleep_until};
use update::{channel::Spread, slots::PendingUpdate, status::RestartPlan};

/// Delay that lets the server half act first: it records the baseline before it requests the restart.
const FIRST: Duration = Duration::from_secs(120);
/// Interval between attempts.
const AGAIN: Duration = Duration::from_secs(60);
/// Longest sleep: the clock may be set, or a window begin, meanwhile.
const LOOK: Duration = Duration::from_secs(3600);
/// Delay of the restart in seconds, so that running calls can end.
const PARTING: u32 = 5;
/// The principal of such a restart.
const PLAN: &str = "update.armed";

/// The reason that is recorded for a restart into that version.
pub(crate) fn into(version: &str) -> String {
    format!("into version {version}")
}

/// Whether a refusal for this error is temporary, so that the restart is tried again.
fn passes(error: &ToolError) -> bool {
    matches!(error.code, ErrorCode::Conflict | ErrorCode::ResourceExhausted | ErrorCode::Unavailable)
}

impl Installer {
    /// Watches plans as long as the installer lives. Sleeps while there is none.
    pub(crate) fn watch_plan(self: &Arc<Self>) {
        let (installer, mut changed) = (Arc::downgrade(self), self.boot.plan_changes());
        base::task::spawn(async move {
            let mut not_before = None;
            loop {
                let Some(this) = installer.upgrade() else { return };
                if this.boot.plan_at_once() {
                    not_before = Some(Instant::now());
                }
                let Some((update, wait)) = this.planned() else {
                    drop(this);
                    not_before = None;
                    if changed.changed().await.is_err() {
                        return;
                    }
                    continue;
                };
                let now = Instant::now();
                let first = *not_before.get_or_insert(now + FIRST);
                let due = wait.map_or(first, |wait| first.max(now + wait + FIRST));
                if due > now {
                    drop(this);
                    tokio::select! {
                        () = sleep_until(due.min(now + LOOK)) => {}
                        told = changed.changed() => if told.is_err() { return },
                    }
                    continue;
                }
                not_before = Some(now + AGAIN);
                match this.restart_as_planned(&update).await {
                    Ok(()) => {
                        tracing::warn!(target: "agent", version = update.version, "restarting into what is armed")
                    }
                    Err(error) => tracing::warn!(target: "agent", %error, "what is armed cannot be tried yet"),
                }
            }
        });
    }

    /// Called when something is armed, planned or cancelled. With `at_once` the restart need not wait for the server
    /// half.
    pub(crate) fn plan_changed(&self, at_once: bool) {
        self.boot.tell_plan(at_once);
    }

    /// What is armed and planned, and the remaining delay.
    fn planned(&self) -> Option<(PendingUpdate, Option<Duration>)> {
        let update = self.system().ok()?.armed().filter(|update| update.may_start() && !update.restart.waits())?;
        let (window, root) = (&self.settings.update.window, &self.settings.root);
        let shut = (update.restart == RestartPlan::InWindow)
            .then(|| Spread::of(root).shut(window, (self.clock)().div_euclid(1000), root))
            .flatten();
        Some((update, shut.max(self.means.power.wait())))
    }

    async fn restart_as_planned(&self, update: &PendingUpdate) -> Result<(), ToolError> {
        let system = self.system()?;
        self.lock.must_be_free()?;
        let (why, argument) = (into(&update.version), system.trial_argument());
        let order = PowerOrder { argument, ..PowerOrder::reboot(PARTING, why, PLAN.into()) };
        self.means.power.schedule(order).map(drop)
    }

    /// Completes the error of a refused restart: says when it is tried again by itself.
    pub(crate) fn later(&self, error: ToolError) -> ToolError {
        self.plan_changed(false);
        if !passes(&error) {
            return error;
        }
        let minutes = self.means.power.wait().unwrap_or(AGAIN).as_secs().div_ceil(60) + FIRST.as_secs() / 60;
        error.with("restarts_by_itself", true).with("retry_after_minutes", minutes).hint(format!(
            "nothing has to be done: it is armed, and the machine restarts into it by itself in about {minutes} minutes; manage.rollback takes it back"
        ))
    }
}
