//! What is armed is a plan to restart. The agent keeps it, whoever made it, until the machine has restarted into it or somebody took it
//! back: through its own end, a lost server half, a cut of the power, and restarts that are refused for now.

use super::Installer;
use crate::machine::PowerAction;
use base::{
    error::{ErrorCode, ToolError},
    os::{blocking, clock},
};
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, sleep_until};
use update::{
    slots::{self, Pending},
    status::RestartPlan,
};

/// The server half has the first word: it records what works before it asks for the restart.
const FIRST: Duration = Duration::from_secs(120);
/// From one try to the next.
const AGAIN: Duration = Duration::from_secs(60);
/// The clock may be set, or a window reached, in between.
const LOOK: Duration = Duration::from_secs(3600);
/// Seconds until the restart: for what is under way to end.
const PARTING: u32 = 5;
/// Who restarts the machine then.
const PLAN: &str = "update.armed";

/// What a restart into that version is for, as it is recorded of the restart.
pub(crate) fn into(version: &str) -> String {
    format!("into version {version}")
}

/// Whether a restart that is refused for this comes by itself, later.
fn passes(error: &ToolError) -> bool {
    matches!(error.code, ErrorCode::Conflict | ErrorCode::ResourceExhausted | ErrorCode::Unavailable)
}

impl Installer {
    /// Keeps plans for as long as the installer lives. Asleep while there is none.
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

    /// Something is armed, planned or taken back; `at_once`: it may be tried without the server half's word.
    pub(crate) fn plan_changed(&self, at_once: bool) {
        self.boot.tell_plan(at_once);
    }

    /// What is armed and planned, and how long it has to wait still.
    fn planned(&self) -> Option<(Pending, Option<Duration>)> {
        let update = self.system().ok()?.armed().filter(|update| !update.restart.waits())?;
        if self.boot.now().offline {
            return None;
        }
        let zone = || clock::zone(&self.settings.root).unwrap_or_else(|_| clock::Zone::utc());
        let window = &self.settings.update.window;
        let shut = (update.restart == RestartPlan::InWindow)
            .then(|| window.wait((self.clock)().div_euclid(1000), &zone()).map(Duration::from_secs))
            .flatten();
        Some((update, shut.max(self.means.power.wait())))
    }

    async fn restart_as_planned(&self, update: &Pending) -> Result<(), ToolError> {
        let system = self.system()?;
        self.lock.must_be_free()?;
        let record = system.record.clone();
        blocking::run("update", move |_| record.step(slots::rearm)).await?;
        let (why, argument) = (into(&update.version), system.trial_argument());
        self.means.power.schedule_with(PowerAction::Reboot, PARTING, Some(why), PLAN.into(), argument).map(drop)
    }

    /// What becomes of an ordered restart that is refused: where it passes, it comes by itself.
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
