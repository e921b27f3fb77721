//! The tasks of this boot: the trial's deadline, and the restart that ends a failed trial. The deadline applies
//! whatever the server half reports.

use super::{Installer, health::HealthReport};
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{sync::watch, task::AbortHandle, time::Instant};
use update::{
    health::{Missing, own::OwnVerdict},
    slots::{self, BootState, FailedTrial, OldSystem},
};

/// Delay before a restart that was found due at start, so that the log reaches the card and a person can see it.
const BREATH: Duration = Duration::from_secs(1);
/// Shortest time for the server half to report how the old system is doing: it looks for half a minute, and needs a while to start.
const OLD_SYSTEM: Duration = Duration::from_secs(120);

/// This boot, as far as updates are concerned.
#[derive(Default)]
pub(crate) struct Boot {
    now: Mutex<Now>,
    /// Counts the machine's starts in this agent's lifetime: more than one only on a simulated machine.
    starts: watch::Sender<u32>,
    /// Counts changes of what is armed and planned.
    plans: watch::Sender<u32>,
    at_once: AtomicBool,
}

#[derive(Default)]
pub(crate) struct Now {
    deadline: Option<Instant>,
    timer: Option<AbortHandle>,
    /// The server half's last report.
    pub report: Option<HealthReport>,
    /// What the agent itself found when it took that report.
    pub own: OwnVerdict,
    /// The boot chain was told that this boot is healthy.
    pub told: bool,
}

impl Boot {
    pub(crate) fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn plan_changes(&self) -> watch::Receiver<u32> {
        self.plans.subscribe()
    }

    pub(super) fn tell_plan(&self, at_once: bool) {
        self.at_once.fetch_or(at_once, Ordering::SeqCst);
        self.plans.send_modify(|changes| *changes = changes.wrapping_add(1));
    }

    /// Whether the plan need not wait. Resets the flag.
    pub(super) fn plan_at_once(&self) -> bool {
        self.at_once.swap(false, Ordering::SeqCst)
    }

    /// Time until the trial's deadline; `None` without a trial.
    pub fn seconds_left(&self) -> Option<u64> {
        self.now().deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()).as_secs())
    }

    /// Cancels the deadline.
    pub(super) fn over(&self) {
        let mut now = self.now();
        now.deadline = None;
        if let Some(timer) = now.timer.take() {
            timer.abort();
        }
    }

    fn begin(&self, deadline: Option<Instant>, timer: Option<AbortHandle>) {
        self.over();
        *self.now() = Now { deadline, timer, ..Now::default() };
        self.starts.send_modify(|starts| *starts += 1);
        self.tell_plan(false);
    }
}

impl Installer {
    /// Receives each later start of the machine: only a simulated one, which this process outlives, has any.
    pub fn starts(&self) -> watch::Receiver<u32> {
        self.boot.starts.subscribe()
    }

    /// Starts the tasks that this boot needs. Called once at start, and again when a simulated machine starts again.
    /// Inside the runtime.
    pub(crate) fn begin_boot(self: &Arc<Self>) {
        let Ok(system) = self.system() else { return };
        let limit = Duration::from_secs(self.settings.update.health_deadline_seconds);
        let (wait, shown) = match &*system.standing() {
            BootState::Trial(_) => (limit, true),
            BootState::RolledBack => (limit.max(OLD_SYSTEM), false),
            BootState::Restart(_) => (BREATH, false),
            _ => return self.boot.begin(None, None),
        };
        let (installer, deadline) = (Arc::downgrade(self), Instant::now() + wait);
        let task = base::task::spawn(async move {
            tokio::time::sleep_until(deadline).await;
            if let Some(installer) = installer.upgrade() {
                installer.due().await;
            }
        });
        self.boot.begin(shown.then_some(deadline), Some(task.abort_handle()));
    }

    async fn due(&self) {
        let Ok(system) = self.system() else { return };
        let on_trial = matches!(&*system.standing(), BootState::Trial(_));
        // No lock is held meanwhile: a trial that succeeds in these seconds is committed, which ends this task.
        let log = if on_trial { self.log_tail().await } else { None };
        let standing = system.standing();
        match &*standing {
            BootState::Trial(trial) => {
                let (reason, missing) = self.why_not();
                tracing::error!(target: "agent", reason, "the trial's time is up: back to the other slot");
                // Restart even if the card cannot be written: the restart is the way back.
                let failed = FailedTrial { reason, by_person: false, missing, log_tail: log };
                let condemned = system.record.step(|state| slots::condemn(state, trial, failed.clone()));
                if let Err(error) = condemned {
                    tracing::error!(target: "agent", %error, "the trial ends without a note of why");
                }
            }
            BootState::Restart(why) => {
                tracing::error!(target: "agent", why, "what runs must not go on");
            }
            BootState::RolledBack => {
                // The old version's server half did not report either: not the new version's fault.
                drop(standing);
                self.judge_old_slot(&system, OldSystem::Silent);
                self.plan_changed(false);
                return;
            }
            _ => return,
        }
        drop(standing);
        if let Err(error) = self.means.power.restart_now() {
            tracing::error!(target: "agent", %error, "the restart that is due");
        }
    }

    /// Why a trial was not committed, for `last_attempt`, and what was missing.
    fn why_not(&self) -> (String, Missing) {
        let now = self.boot.now();
        let limit = self.settings.update.health_deadline_seconds;
        let (mut problems, missing) = match &now.report {
            None => (vec!["the server said nothing".into()], Missing::server()),
            Some(report) => (report.problems.clone(), report.missing()),
        };
        problems.extend(now.own.problems.iter().cloned());
        (format!("not healthy within {limit} s: {}", problems.join("; ")), missing.and(&now.own.missing))
    }
}
