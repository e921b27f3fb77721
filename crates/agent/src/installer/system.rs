//! A machine with two slots: its card and boot chain, the record of both, and the standing of this boot.

use super::{
    Installer,
    card::BootableCard,
    image::{self, ImageDescription, TrustChain},
    planned_restart::into,
};
use crate::{clock::Clock, machine::PowerAction, power::Restarts, settings::AgentSettings};
use base::{error::ToolError, os::clock::synchronized};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use update::{
    Reckoning,
    boot::ResetCause,
    health::Missing,
    install::{InstallRecord, InstallSite, Judged, MachineFacts, hooks::InstallObserver, judge::judge},
    slots::{self, BootState, Here, Ledger, PendingUpdate, Settled, Stage, UpdateLimits},
    status::RestartPlan,
    trust::VerifiedRelease,
};

/// A machine with two slots.
pub(crate) struct System {
    pub card: BootableCard,
    pub record: InstallRecord,
    pub machine: MachineFacts,
    pub(super) settings: AgentSettings,
    image: ImageDescription,
    standing: Mutex<BootState>,
    clock: Clock,
    /// Notified when a simulated machine starts again.
    again: OnceLock<Weak<Installer>>,
}

impl System {
    pub(super) fn open(
        settings: &AgentSettings,
        card: BootableCard,
        clock: Clock,
        faults: &mut Vec<String>,
    ) -> Result<Self, ToolError> {
        let ledger = Ledger::open(Arc::clone(&card.disk), Arc::clone(&card.flow))?;
        faults.extend(ledger.faults().iter().cloned());
        let image = if settings.simulated {
            ImageDescription { created: ImageDescription::default().floor(), ..ImageDescription::default() }
        } else {
            ImageDescription::read(&settings.root, faults)
        };
        let update = &settings.update;
        let machine = MachineFacts {
            product: update.product.clone(),
            channel: update.channel.clone(),
            layout: card.layout.clone(),
            hardware: card.hardware.clone(),
            bootloader_built: card.flow.bootloader_built(),
            has_eeprom: card.flow.name() == "tryboot",
            built: image.created,
        };
        let limits = UpdateLimits {
            installs_a_day: update.installs_per_day,
            reboots_an_hour: u32::try_from(settings.policy.reboots_per_hour).unwrap_or(u32::MAX),
        };
        let record = InstallRecord {
            ledger: Arc::new(Mutex::new(ledger)),
            clock: Arc::clone(&clock),
            running_counter: image.counter,
            limits,
            restart: RestartPlan::Waits,
        };
        let (standing, settings) = (Mutex::new(BootState::Elsewhere), settings.clone());
        Ok(Self { card, record, machine, settings, image, standing, clock, again: OnceLock::new() })
    }

    /// Determines the standing of this boot, and applies its effects to the card.
    pub fn settle(&self, faults: &mut Vec<String>) {
        let here = Here { now_ms: (self.clock)(), version: self.image.version.clone(), counter: self.image.counter };
        let (Settled { case, standing, .. }, done) = self.record.ledger().settle(&here);
        if let Err(error) = done {
            faults.push(format!("updates: what this start asks for could not be done: {}", error.message));
        }
        tracing::info!(target: "agent", ?case, ?standing, "where this machine stands");
        *self.standing() = standing;
    }

    /// The standing of this boot. Lock order: this first, then the ledger.
    pub fn standing(&self) -> MutexGuard<'_, BootState> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The roots of trust: the image's, and those that were accepted since.
    ///
    /// # Errors
    /// `failed_precondition` when the image has none.
    pub fn roots(&self) -> Result<TrustChain, ToolError> {
        image::roots(&self.settings.root, &self.settings.update.trust, &self.record.ledger().state().roots)
    }

    /// Checks the simulated fault of the running system.
    ///
    /// # Errors
    /// The fault.
    pub fn simulated_health(&self) -> Result<(), String> {
        let running = self.record.ledger().evidence().running();
        running.and_then(|slot| self.card.sickness(slot)).map_or(Ok(()), Err)
    }

    /// The current time, as far as it can be trusted.
    pub fn reckoned(&self) -> Reckoning {
        // A simulated machine uses the host's clock, which is always trusted.
        let synchronised = self.settings.simulated || synchronized(&self.settings.root) == Some(true);
        let floor = slots::clock::floor(self.record.ledger().state(), self.machine.built);
        Reckoning::of((self.clock)().div_euclid(1000), synchronised, floor)
    }

    /// Verifies the head of a bundle; writes nothing.
    ///
    /// # Errors
    /// Those of [`judge`]; `failed_precondition` without a root of trust.
    pub fn judge(&self, head: &[u8]) -> Result<(VerifiedRelease, Judged), ToolError> {
        let roots = self.roots()?.newest;
        let verdict = judge(head, &roots, &self.machine, &self.record, self.reckoned())?;
        let (release, manifest) = (verdict.release, |release: &VerifiedRelease| release.manifest.clone());
        let about = manifest(&release);
        let resumes = self.record.resumes(self.record.ledger().state(), &release);
        let judged = Judged {
            version: about.version,
            counter: about.counter,
            channel: about.channel,
            manifest_sha256: release.digest,
            target: verdict.target,
            total_bytes: about.images.iter().map(|image| image.size).sum(),
            resumes,
            notes: verdict.notes,
            simulated: self.settings.simulated,
        };
        Ok((release, judged))
    }

    /// Where the engine works, observed by `watch`; `restart` is the plan for when it is done.
    pub fn site(&self, watch: Arc<dyn InstallObserver>, restart: RestartPlan) -> InstallSite {
        InstallSite {
            disk: Arc::clone(&self.card.disk),
            record: InstallRecord { restart, ..self.record.clone() },
            watch,
            simulated: self.settings.simulated,
        }
    }

    /// The argument that the next restart must hand to the firmware to start the armed slot.
    pub fn trial_argument(&self) -> Option<String> {
        self.card.flow.trial_argument().map(str::to_owned)
    }

    /// The armed update that was not tried yet.
    pub fn armed(&self) -> Option<PendingUpdate> {
        let ledger = self.record.ledger();
        ledger.state().update.clone().filter(|update| update.stage == Stage::Armed)
    }

    /// What the trial lacked that failed in the boot before, by the old system's names, while that one is being judged.
    pub fn failed_trial(&self) -> Option<Missing> {
        let ledger = self.record.ledger();
        let update = ledger.state().update.as_ref().filter(|update| update.stage == Stage::RolledBack)?;
        let missing = update.verdict.as_ref().map(|verdict| verdict.missing.clone()).unwrap_or_default();
        Some(missing.before(&update.services))
    }

    pub(super) fn belongs_to(&self, installer: Weak<Installer>) {
        // Set once, at start.
        let _ = self.again.set(installer);
    }
}

impl Restarts for System {
    /// Writes the marker of a requested restart, by which the next start distinguishes it from a crash.
    fn before(&self, action: PowerAction, argument: Option<&str>) {
        let told = argument.is_some() || self.card.flow.trial_argument().is_none();
        // Switching the power off loses the flag, so nothing is tried then.
        let trial = action == PowerAction::Reboot && told && self.armed().is_some_and(|update| update.may_start());
        let mut ledger = self.record.ledger();
        // The rate limit was checked when the restart was requested; the marker is written in any case.
        let limits = UpdateLimits { reboots_an_hour: u32::MAX, ..self.record.limits };
        let seen = ledger.evidence();
        let step = slots::restarting(ledger.state(), &seen, trial, "asked for", limits, (self.clock)());
        if let Err(error) = step.and_then(|step| ledger.perform(&step)) {
            tracing::error!(target: "agent", %error, "a restart without its marker: the next start may take it for a crash");
        }
    }

    fn argument(&self) -> Option<String> {
        self.armed().filter(PendingUpdate::may_start).and_then(|_| self.trial_argument())
    }

    fn cancelled(&self, reason: Option<&str>) {
        // Only the restart into it: any other has another purpose.
        if self.armed().is_none_or(|update| reason != Some(&*into(&update.version))) {
            return;
        }
        let why = "its restart was cancelled: it waits for an order, or for system.reboot";
        if let Err(error) = self.record.step(|state| slots::plan_restart(state, RestartPlan::Waits, why)) {
            tracing::error!(target: "agent", %error, "that a restart was cancelled could not be recorded");
        }
    }

    fn simulated(&self, _argument: Option<&str>) {
        let Some(board) = &self.card.board else { return };
        let outcome = board.restart(ResetCause::Watchdog);
        tracing::info!(target: "agent", ?outcome, "the simulated machine starts anew");
        let mut faults = Vec::new();
        self.settle(&mut faults);
        for fault in faults {
            tracing::error!(target: "agent", fault, "found at a simulated start");
        }
        if let Some(installer) = self.again.get().and_then(Weak::upgrade) {
            installer.begin_boot();
        }
    }
}
