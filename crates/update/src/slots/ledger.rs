//! The record and the card together: performs steps, and keeps what was recorded at hand.

use super::{Case, Settled, Standing, State, Step, Store, counter, perform, settle};
use crate::{
    boot::{BootFlow, Evidence},
    disk::Disk,
    slots::Here,
};
use base::error::ToolError;
use std::sync::Arc;

/// One per machine, in the agent. All of it sleeps.
pub struct Ledger {
    disk: Arc<dyn Disk>,
    flow: Arc<dyn BootFlow>,
    store: Store,
    state: State,
    faults: Vec<String>,
}

impl Ledger {
    /// Reads what is recorded.
    ///
    /// # Errors
    /// Those of [`Store::open`].
    pub fn open(disk: Arc<dyn Disk>, flow: Arc<dyn BootFlow>) -> Result<Self, ToolError> {
        let opened = Store::open(&*disk)?;
        let mut faults = opened.faults;
        match counter::read(&*disk) {
            Ok(unhealthy) => faults.extend(unhealthy.faults()),
            Err(error) => faults.push(error.message),
        }
        Ok(Self { disk, flow, store: opened.store, state: opened.state, faults })
    }

    /// What is recorded.
    pub const fn state(&self) -> &State {
        &self.state
    }
    /// What was found wrong when the record was opened: torn copies, boots that nobody found healthy.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }
    /// What the boot chain says now.
    pub fn evidence(&self) -> Evidence {
        self.flow.evidence()
    }

    /// Settles this boot and performs what follows. The standing holds whatever becomes of that, and its failure is given beside it; but where
    /// the boot chain could not be mended, a restart would only lead here again, and the slot that runs is one that was walked to.
    pub fn settle(&mut self, here: &Here) -> (Settled, Result<(), ToolError>) {
        let mut settled = settle(&self.state, &self.flow.evidence(), here);
        let done = self.perform(&settled.step);
        if done.is_err() && settled.case == Case::TargetByDefault {
            settled.standing = Standing::Walked;
        }
        (settled, done)
    }

    /// Performs a step, and has its state from then on.
    ///
    /// # Errors
    /// Those of [`perform`]; what is recorded is then read again, since a write that failed may still have come through.
    pub fn perform(&mut self, step: &Step) -> Result<(), ToolError> {
        let done = perform(&*self.disk, &*self.flow, &mut self.store, step);
        match (&done, &step.state) {
            (Ok(()), Some(state)) => self.state = State { lost: false, ..state.clone() },
            (Ok(()), None) => {}
            (Err(_), _) => self.read_again(),
        }
        done
    }

    /// Has what is recorded in both copies, as [`Store::save_again`]: `same` is given it, and then what the other copy says.
    ///
    /// # Errors
    /// Those of [`Store::save_again`]; what is recorded is then read again.
    pub fn save_again(&mut self, same: impl FnOnce(&State, &State) -> bool) -> Result<(), ToolError> {
        let saved = self.store.save_again(&*self.disk, &self.state, |other| same(&self.state, other));
        if saved.is_err() {
            self.read_again();
        }
        saved.map(drop)
    }

    fn read_again(&mut self) {
        if let Ok(opened) = Store::open(&*self.disk) {
            self.store = opened.store;
            self.state = opened.state;
        }
    }
}
