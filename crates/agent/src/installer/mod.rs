//! The installer: the card with its two slots, the lock for writing it, and the trial of what was written.
//!
//! [`system`](system::System) is the card, the boot chain and the record of both; [`trial`] the deadline of this boot;
//! [`health`] the verdict that commits a trial; [`planned_restart`] the restart into the armed slot; [`dead_man`] the
//! automatic rollback. The operations on updates are in `operations/update`, the engine that writes a slot in
//! `update/install`.

mod admissions;
mod card;
mod card_port;
mod connections_copy;
mod dead_man;
mod health;
mod health_probe;
mod image;
mod install_lock;
mod known_settings;
mod log_tail;
mod planned_restart;
mod slot_status;
mod start_count;
mod system;
mod trial;
mod update_tool;

pub use card::BootableCard;
pub use card_port::CardPort;
pub use dead_man::DEAD_MAN;
pub use health::{HealthReport, HealthTaken, MAX_PROBLEM, MAX_PROBLEMS};
pub(super) use install_lock::InstallGuard;
pub use known_settings::{FLEET, GRANTS, NewSetting, knows, warning};
pub(super) use planned_restart::into;
pub(crate) use slot_status::blocked_release;
pub(super) use system::System;
pub use update_tool::UpdateTool;

use self::{admissions::Admissions, install_lock::InstallLock, trial::Boot};
use super::{clock::Clock, exec::Runner, power::Power, settings::AgentSettings, units::Units};
use base::{
    error::{ErrorCode, ToolError},
    os::blocking,
};
use std::sync::Arc;
use update::{install::hooks::InstallObserver, status::UpdateStatus};

/// See the module.
pub(super) struct Installer {
    settings: AgentSettings,
    clock: Clock,
    means: Means,
    system: Result<Arc<System>, ToolError>,
    watch: Arc<dyn InstallObserver>,
    /// One install at a time.
    pub lock: InstallLock,
    pub admissions: Admissions,
    pub boot: Boot,
}

/// Parts of the agent that the installer uses.
pub(super) struct Means {
    pub power: Power,
    pub units: Arc<dyn Units>,
    pub runner: Arc<dyn Runner>,
    pub simulated: bool,
}

/// An opened card, and the observer of installs onto it.
pub(super) struct OpenedCard {
    system: Result<Arc<System>, ToolError>,
    watch: Arc<dyn InstallObserver>,
}

impl Installer {
    /// Opens the card and settles this boot. A failure is recorded as a fault; the agent starts anyway.
    pub fn open(settings: &AgentSettings, port: CardPort, clock: &Clock, faults: &mut Vec<String>) -> OpenedCard {
        let system = port.card.and_then(|card| System::open(settings, card, Arc::clone(clock), faults));
        match &system {
            Ok(system) => system.settle(faults),
            // A machine without slots.
            Err(error) if error.code == ErrorCode::CapabilityMissing => {}
            Err(error) => faults.push(format!("updates: {}", error.message)),
        }
        OpenedCard { system: system.map(Arc::new), watch: port.watch }
    }

    /// Loads the state of the previous agent.
    ///
    /// # Errors
    /// `unavailable` when its file cannot be read.
    pub fn load(
        settings: &AgentSettings,
        OpenedCard { system, watch }: OpenedCard,
        means: Means,
        clock: Clock,
        faults: &mut Vec<String>,
    ) -> Result<Arc<Self>, ToolError> {
        let admissions = Admissions::load(&settings.state_dir, Arc::clone(&clock), faults)?;
        let (settings, lock, boot) = (settings.clone(), InstallLock::default(), Boot::default());
        Ok(Arc::new(Self { settings, clock, means, system, watch, lock, admissions, boot }))
    }

    /// Starts watching this boot and planned restarts. Called once, at start, inside the runtime.
    pub fn begin(self: &Arc<Self>) {
        let Ok(system) = self.system() else { return };
        system.belongs_to(Arc::downgrade(self));
        self.means.power.tell(Arc::clone(&system) as _);
        self.begin_boot();
        self.watch_plan();
        self.clear_start_count();
        self.keep_settings(&system);
    }

    /// # Errors
    /// `capability_missing` without slots, or why they cannot be used.
    pub fn system(&self) -> Result<Arc<System>, ToolError> {
        self.system.clone()
    }

    /// The observer of installs.
    pub fn watch(&self) -> &Arc<dyn InstallObserver> {
        &self.watch
    }

    /// The state of the slots and of an update.
    ///
    /// # Errors
    /// Those of [`Installer::system`].
    pub async fn status(&self) -> Result<UpdateStatus, ToolError> {
        let system = self.system()?;
        let left = self.boot.seconds_left();
        blocking::run("update", move |_| Ok(system.status(left))).await
    }
}
