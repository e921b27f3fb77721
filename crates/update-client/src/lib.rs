//! The server's side of updates: finds releases, runs the update job, monitors a trial, and reports the state of all.
//!
//! Depends on `base`, `contract`, `hw`, `update` and `agent`.
//!
//! [`UpdateClient`] is the state that the modules share; each adds methods. [`fetch`] downloads and [`upload`] passes
//! the data to the agent; `channel_check` reads the channel's index, `preview` has a bundle judged and `settings_check`
//! compares a release with the settings here; `update_job` is the job, `poller` starts automatic ones; `trial_monitor`
//! reports a new system's health from `health_probe`, held against the `baseline`, and `dead_man_switch` requests a
//! rollback when the channel does not answer. `root_rotation` follows newer roots of trust.
//!
//! Makes no trust decisions: the agent decides whether a bundle is valid, where it is written and whether a trial is
//! committed.

mod baseline;
mod channel_check;
mod channel_probe;
mod dead_man_switch;
pub mod fetch;
mod health_probe;
pub mod icmp;
mod plans;
mod poller;
mod preview;
mod root_rotation;
mod settings_check;
mod summary;
mod trial_monitor;
mod update_job;
pub mod upload;

pub use channel_check::{ChannelCheck, ReleaseOffer};
pub use plans::Planned;
pub use preview::job_id;
pub use summary::{Summary, UpdateOverview};
pub use trial_monitor::in_trial;

use agent::AgentLink;
use base::{
    clock::Wall,
    error::ToolError,
    os::{Root, ids},
};
use contract::config::Settings;
use hw::machine::Machine;
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use update::job::{Jobs, UpdateOrder};
use update_job::UpdateJob;

/// The server's updates. Cheap to clone.
#[derive(Clone)]
pub struct UpdateClient(Arc<Inner>);

struct Inner {
    jobs: Jobs,
    settings: Arc<Settings>,
    agent: AgentLink,
    wall: Wall,
    /// The folder of job and baseline.
    folder: PathBuf,
    root: Root,
    seen: Mutex<Seen>,
    /// Serializes storing what a channel returned.
    remembering: tokio::sync::Mutex<()>,
    /// Counts changes for those who watch `raspi://update`, in addition to the job's own.
    moved: watch::Sender<u64>,
    /// Asks the poller to check the channel now.
    looked: tokio::sync::Notify,
}

#[derive(Default)]
struct Seen {
    plans: plans::Plans,
    /// The problems that the last check of this boot's health found; `None` before the first check.
    problems: Option<Vec<String>>,
}

impl UpdateClient {
    pub fn of(settings: &Arc<Settings>, machine: &Machine, agent: AgentLink, wall: Wall) -> Self {
        let folder = settings.places.state_dir.join("updates");
        Self(Arc::new(Inner {
            jobs: Jobs::open(&folder, wall.clone(), ids::boot(&machine.root).ok()),
            settings: Arc::clone(settings),
            agent,
            wall,
            folder,
            root: machine.root.clone(),
            seen: Mutex::default(),
            remembering: tokio::sync::Mutex::default(),
            moved: watch::Sender::new(0),
            looked: tokio::sync::Notify::new(),
        }))
    }

    pub fn jobs(&self) -> &Jobs {
        &self.0.jobs
    }

    /// Starts an update.
    ///
    /// # Errors
    /// `conflict` while another one is under way, with its principal and start.
    pub fn start(&self, machine: &Arc<Machine>, order: UpdateOrder) -> Result<(), ToolError> {
        self.0.jobs.start(order, Arc::new(UpdateJob { client: self.clone(), machine: Arc::downgrade(machine) }))
    }

    /// Continues where the previous server ended, and monitors a trial. Called once, when the listeners are open. Ends
    /// with `stop`, and then releases the agent.
    pub fn begin(&self, machine: &Arc<Machine>, stop: CancellationToken) {
        let client = self.clone();
        let machine = Arc::downgrade(machine);
        base::task::spawn(stop.run_until_cancelled_owned(async move {
            let (marks, status) = (client.marks(), client.first_status().await);
            let is_over = match &status {
                Some(status) => trial_monitor::run(&client, &machine, status).await,
                None => true,
            };
            let goes_on = async {
                let resumed = client
                    .0
                    .jobs
                    .resume(Arc::new(UpdateJob { client: client.clone(), machine: Weak::clone(&machine) }));
                if let Some(status) = status.as_ref().filter(|_| !resumed) {
                    client.finish_armed(&machine, status).await;
                }
            };
            let slots = async {
                let Some(status) = status.clone() else { return };
                let rest = trial_monitor::run_on(&client, &machine, &status, is_over);
                let again = trial_monitor::try_again(&client, &machine, &status);
                futures::join!(rest, again, client.keep_baseline(&machine, status.clone(), marks));
            };
            futures::join!(goes_on, slots, poller::run(&client, &machine), client.dead_man_switch());
        }));
    }

    /// Waits for the next change, after which watchers should read again.
    pub async fn changed(&self, since: &mut WatchPosition) {
        tokio::select! {
            // Both senders live as long as `self`.
            _ = since.jobs.changed() => {}
            _ = since.moved.changed() => {}
        }
    }

    /// For [`UpdateClient::changed`].
    pub fn marks(&self) -> WatchPosition {
        WatchPosition { jobs: self.0.jobs.changes(), moved: self.0.moved.subscribe() }
    }

    /// Checks the channel within half a minute, if it is checked by itself at all (`update.check_interval_hours`).
    pub fn check_soon(&self) {
        self.0.looked.notify_one();
    }

    /// Notifies watchers after a tool changed the slots.
    pub fn news(&self) {
        self.moved();
    }

    fn moved(&self) {
        self.0.moved.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a watcher has already seen.
pub struct WatchPosition {
    jobs: watch::Receiver<u64>,
    moved: watch::Receiver<u64>,
}
