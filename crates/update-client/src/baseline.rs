//! What worked before a restart into a release: recorded when one is armed, each hour while it is, and right before a restart that the
//! server causes. So whoever else restarts the machine, or whatever cuts its power, the trial is held against the state of an hour ago.

use crate::{
    UpdateClient, WatchPosition,
    trial_monitor::{in_trial, is_armed},
};
use agent::operations::update::GetUpdateStatus;
use base::{error::ToolError, os::systemd::wanted};
use hw::machine::Machine;
use std::{collections::BTreeSet, path::PathBuf, sync::Weak, time::Duration};
use tokio::time::{Instant, sleep};
use update::{
    health::{Baseline, Observations},
    job::Tell,
    status::{Phase, UpdateStatus},
};

/// Interval between records while a release is armed.
const EACH: Duration = Duration::from_secs(3600);
/// How long a restart into a release waits for what the baseline has: a router that got power at the same time needs so long. The agent
/// restarts two minutes after its own start, whatever the server does.
const READY: Duration = Duration::from_secs(110);
/// Interval between checks meanwhile.
const PACE: Duration = Duration::from_secs(5);

impl UpdateClient {
    fn baseline_file(&self) -> PathBuf {
        self.0.folder.join("baseline.json")
    }

    /// The recorded baseline, if it is of the version that ran before this boot's trial or, without a trial, runs now, by `status`. What an
    /// earlier version recorded months ago says nothing about this one. In a trial it is as the release's changes make it.
    pub(crate) async fn baseline(&self, status: &UpdateStatus) -> Option<Baseline> {
        let file = self.baseline_file();
        let shown = file.display().to_string();
        let loaded = base::os::blocking::run("update", move |_| {
            Baseline::load(&file).map_err(|error| ToolError::unavailable(error.to_string()))
        });
        let baseline = loaded.await.unwrap_or_else(|error| {
            tracing::error!(target: "update", %error, file = shown, "what worked before is not known");
            None
        })?;
        if version_before(status).is_some_and(|before| before != baseline.version) {
            tracing::debug!(target: "update", of = baseline.version, "what worked before is of another version: only the configured checks count");
            return None;
        }
        let in_trial = in_trial(status).is_some();
        Some(if in_trial { baseline.changed(&status.service_changes) } else { baseline })
    }

    /// Keeps the baseline of a release that waits for its restart no older than an hour. What is offline at that moment is not recorded.
    /// `status` is from before `marks` were taken.
    pub(crate) async fn keep_baseline(
        &self,
        machine: &Weak<Machine>,
        mut status: UpdateStatus,
        mut marks: WatchPosition,
    ) {
        loop {
            let hour = async { if is_armed(&status) { sleep(EACH).await } else { std::future::pending().await } };
            let is_due = tokio::select! {
                () = hour => true,
                () = self.changed(&mut marks) => false,
            };
            match self.0.agent.get::<GetUpdateStatus>().await {
                Ok(now) => status = now,
                Err(error) => {
                    tracing::debug!(target: "update", %error, "whether a release is armed is not known");
                    continue;
                }
            }
            if !is_due || !is_armed(&status) {
                continue;
            }
            let Some(machine) = machine.upgrade() else { return };
            let look = self.look(&machine).await;
            if self.judged(&look, &status).await.is_offline() {
                continue;
            }
            if let Err(error) = self.record_as_baseline(&machine, look).await {
                tracing::warn!(target: "update", %error, "what works now could not be recorded");
            }
        }
    }

    /// Waits until the network is there that the baseline has, or another one; at most [`READY`]. Returns what works then; `None` if the
    /// network stayed away. A job says that it waits.
    pub(crate) async fn until_ready(
        &self,
        machine: &Machine,
        status: &UpdateStatus,
        job: Option<&Tell>,
    ) -> Option<Observations> {
        let deadline = Instant::now() + READY;
        loop {
            let look = self.look(machine).await;
            if !self.judged(&look, status).await.is_offline() || look.has_network() {
                return Some(look);
            }
            if Instant::now() >= deadline {
                break;
            }
            if let Some(tell) = job {
                let message = format!("waits up to {} s for the network that worked before", READY.as_secs());
                tell.step(Phase::Armed, 0, 0, message).await;
            }
            sleep(PACE).await;
        }
        tracing::warn!(target: "update", seconds = READY.as_secs(), "the network that worked before is still away");
        None
    }

    /// Records what works now, once the network is there that worked before. If it stays away, the earlier record counts: the trial fails
    /// for it then, and the release waits for the network.
    pub(crate) async fn record_when_ready(&self, machine: &Machine, job: &Tell) -> Result<(), ToolError> {
        let status = self.0.agent.get::<GetUpdateStatus>().await?;
        match self.until_ready(machine, &status, Some(job)).await {
            Some(look) => self.record_as_baseline(machine, look).await,
            None => Ok(()),
        }
    }

    /// Records `look` as the baseline for the next system.
    pub(crate) async fn record_as_baseline(&self, machine: &Machine, mut look: Observations) -> Result<(), ToolError> {
        // A service that was started by a message for a moment would be missing in the next system, which may not
        // receive such a message.
        let (bus, running) = (&machine.bus, look.units.keys().map(String::as_str));
        let stays = wanted::by_what_is_up(bus, running).await.unwrap_or_else(|error| {
            tracing::warn!(target: "update", %error, "no service but those of the configuration counts for the next system");
            BTreeSet::new()
        });
        look.units.retain(|name, _| stays.contains(name));
        let baseline = Baseline::of(&look, &self.running_version().await, self.now_ms());
        let file = self.baseline_file();
        base::os::blocking::run("update", move |_| {
            baseline.save(&file).map_err(|error| {
                ToolError::unavailable(format!("what works now cannot be kept in {}: {error}", file.display()))
                    .hint("the new system could not be held against it; make room, then begin again")
            })
        })
        .await
    }
}

/// The version that ran before this boot's trial, or runs now.
fn version_before(status: &UpdateStatus) -> Option<&str> {
    let tried = in_trial(status);
    let before = status.slots.iter().find(|slot| match tried {
        Some(tried) => slot.slot != tried,
        None => slot.running,
    });
    before.and_then(|slot| slot.version.as_deref())
}
