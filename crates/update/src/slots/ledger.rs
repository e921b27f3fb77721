//! The record together with the card: performs steps, and caches the record.

use super::{
    BootState, Case, Settled, StateRecord, StateStore, Step,
    counter::{self, Counted, Counter},
    damage, perform, settle,
};
use crate::{
    boot::{BootFlow, Evidence},
    disk::{Access, Area, Disk},
    slots::Here,
};
use base::error::ToolError;
use std::sync::Arc;

/// One per machine, in the agent. All methods block.
pub struct Ledger {
    disk: Arc<dyn Disk>,
    flow: Arc<dyn BootFlow>,
    store: StateStore,
    state: StateRecord,
    faults: Vec<String>,
    /// The damage counted before this start, until it is settled.
    damaged: Option<Counted>,
}

impl Ledger {
    /// Reads the record.
    ///
    /// # Errors
    /// Those of [`StateStore::open`].
    pub fn open(disk: Arc<dyn Disk>, flow: Arc<dyn BootFlow>) -> Result<Self, ToolError> {
        let device = disk.open(Area::AgentState, Access::Read)?;
        let opened = StateStore::read_from(&*device)?;
        let mut faults = opened.faults;
        let unhealthy = Counter::UnhealthyBoots.read_from(&*device).map(counter::unhealthy_faults);
        let damaged = Counter::Damage.read_from(&*device);
        drop(device);
        // What cannot be read is a fault, and counts as nothing.
        let counted = damaged.as_ref().copied().unwrap_or_default();
        for found in [unhealthy, damaged.map(damage::faults)] {
            faults.extend(found.unwrap_or_else(|error| vec![error.into_message()]));
        }
        Ok(Self { disk, flow, store: opened.store, state: opened.state, faults, damaged: Some(counted) })
    }

    /// The current record.
    pub const fn state(&self) -> &StateRecord {
        &self.state
    }
    /// Problems found when the record was opened: torn copies, boots that were not found healthy, damaged roots.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }
    /// Reads the boot chain's evidence.
    pub fn evidence(&self) -> Evidence {
        self.flow.evidence()
    }

    /// Settles this boot and performs the step. The standing is returned with the step's result, whether that failed or
    /// not. One exception: if the boot chain could not be repaired, a restart would only lead here again, so the
    /// standing is that of a fallback to the running slot.
    pub fn settle(&mut self, here: &Here) -> (Settled, Result<(), ToolError>) {
        let seen = self.flow.evidence();
        let mut settled = settle(&self.state, &seen, here);
        // A simulated machine settles each of its starts with this ledger.
        let damaged = self.damaged.take().unwrap_or_else(|| Counter::Damage.read(&*self.disk).unwrap_or_default());
        damage::record(&mut settled, &self.state, seen.running(), damaged);
        let done = self.perform(&settled.step);
        if done.is_err() && settled.case == Case::TargetByDefault {
            settled.standing = BootState::Walked;
        }
        (settled, done)
    }

    /// Performs a step, and takes over its state.
    ///
    /// # Errors
    /// Those of [`perform`]; the record is then read again, because a failed write may have succeeded.
    pub fn perform(&mut self, step: &Step) -> Result<(), ToolError> {
        let done = perform(&*self.disk, &*self.flow, &mut self.store, step);
        match (&done, &step.state) {
            (Ok(()), Some(state)) => self.state = StateRecord { lost: false, ..state.clone() },
            (Ok(()), None) => {}
            (Err(_), _) => self.read_again(),
        }
        done
    }

    /// Brings the record into both copies, as [`StateStore::save_again`]: `same` gets it and the content of the other copy.
    ///
    /// # Errors
    /// Those of [`StateStore::save_again`]; the record is then read again.
    pub fn save_again(&mut self, same: impl FnOnce(&StateRecord, &StateRecord) -> bool) -> Result<(), ToolError> {
        let saved = self.store.save_again(&*self.disk, &self.state, |other| same(&self.state, other));
        if saved.is_err() {
            self.read_again();
        }
        saved.map(drop)
    }

    fn read_again(&mut self) {
        if let Ok(opened) = StateStore::open(&*self.disk) {
            self.store = opened.store;
            self.state = opened.state;
        }
    }
}
