//! What the server does about updates: finds releases, runs the one job, looks after a trial, and says how it all stands.
//!
//! Decides nothing about trust: what a bundle is worth, where it goes and whether a trial is committed is the agent's to say.

mod attend;
mod bring;
pub mod carry;
mod dead_man;
mod find;
mod plans;
mod probe;
mod roots;
mod rounds;
mod standing;
mod weigh;

pub(crate) use attend::in_trial;
pub use find::{Found, Offer};
pub use plans::{LIFE as PLAN_LIFE, Planned};
pub use standing::{Standing, Summary};
pub use weigh::job_id;

use agent::AgentLink;
use base::{
    clock::Wall,
    error::ToolError,
    os::{
        Root,
        clock::{self, Zone},
    },
};
use bring::Bring;
use contract::config::Settings;
use hw::machine::Machine;
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use update::{
    health::Baseline,
    job::{Jobs, Order},
};

/// The server's updates. Cheap to clone.
#[derive(Clone)]
pub struct Updating(Arc<Inner>);

struct Inner {
    jobs: Jobs,
    settings: Arc<Settings>,
    agent: AgentLink,
    wall: Wall,
    /// Where job and baseline are kept.
    folder: PathBuf,
    root: Root,
    seen: Mutex<Seen>,
    /// What a channel said is written down by one at a time.
    remembering: tokio::sync::Mutex<()>,
    /// Counts what may be news to those who watch `raspi://update`, beside the job's own.
    moved: watch::Sender<u64>,
}

#[derive(Default)]
struct Seen {
    plans: plans::Plans,
    /// What the last look at this boot's health found wrong, in words; `None` before the first one.
    problems: Option<Vec<String>>,
}

impl Updating {
    pub fn of(settings: &Arc<Settings>, machine: &Machine, agent: AgentLink, wall: Wall) -> Self {
        let folder = settings.places.state_dir.join("updates");
        Self(Arc::new(Inner {
            jobs: Jobs::open(&folder, wall.clone()),
            settings: Arc::clone(settings),
            agent,
            wall,
            folder,
            root: machine.root.clone(),
            seen: Mutex::default(),
            remembering: tokio::sync::Mutex::default(),
            moved: watch::Sender::new(0),
        }))
    }

    pub fn jobs(&self) -> &Jobs {
        &self.0.jobs
    }

    /// Begins an update.
    ///
    /// # Errors
    /// `conflict` while another one is under way, with whose it is and since when.
    pub fn start(&self, machine: &Arc<Machine>, order: Order) -> Result<(), ToolError> {
        self.0.jobs.start(order, Arc::new(Bring { updating: self.clone(), machine: Arc::downgrade(machine) }))
    }

    /// Goes on where the server before this one ended, and looks after a trial. Called once, when the doors are open; ends with
    /// `stop`, and lets go of the agent then.
    pub fn begin(&self, machine: &Arc<Machine>, stop: CancellationToken) {
        let updating = self.clone();
        let machine = Arc::downgrade(machine);
        tokio::spawn(stop.run_until_cancelled_owned(async move {
            let simulated = attend::attend(&updating, &machine).await;
            let goes_on = async {
                if !updating
                    .0
                    .jobs
                    .resume(Arc::new(Bring { updating: updating.clone(), machine: Weak::clone(&machine) }))
                {
                    updating.finish_armed().await;
                }
            };
            let simulated = async {
                if simulated {
                    attend::attend_simulated(&updating, &machine).await;
                }
            };
            futures::join!(goes_on, simulated, rounds::rounds(&updating, &machine), updating.dead_man());
        }));
    }

    /// What changes from now on: something to read again, for those who watch.
    pub async fn changed(&self, since: &mut Marks) {
        tokio::select! {
            // Both senders live as long as `self`.
            _ = since.jobs.changed() => {}
            _ = since.moved.changed() => {}
        }
    }

    /// For [`Updating::changed`].
    pub fn marks(&self) -> Marks {
        Marks { jobs: self.0.jobs.changes(), moved: self.0.moved.subscribe() }
    }

    /// Where windows are. A machine whose zone cannot be read has UTC, as `system.get_clock` says.
    fn zone(&self) -> Zone {
        clock::zone(&self.0.root).unwrap_or_else(|_| Zone::utc())
    }

    /// A tool changed something of the slots.
    pub fn news(&self) {
        self.moved();
    }

    fn moved(&self) {
        self.0.moved.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn baseline_file(&self) -> PathBuf {
        self.0.folder.join("baseline.json")
    }

    /// What worked before, if that was kept.
    async fn baseline(&self) -> Option<Baseline> {
        let file = self.baseline_file();
        let shown = file.display().to_string();
        let loaded = base::os::blocking::run("update", move |_| {
            Baseline::load(&file).map_err(|error| ToolError::unavailable(error.to_string()))
        });
        loaded.await.unwrap_or_else(|error| {
            tracing::error!(target: "update", %error, file = shown, "what worked before is not known");
            None
        })
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How far somebody who watches has seen.
pub struct Marks {
    jobs: watch::Receiver<u64>,
    moved: watch::Receiver<u64>,
}
