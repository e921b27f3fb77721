//! A transition: acts before the record, the record, acts after it. All acts are idempotent.

use super::{StateRecord, StateStore, counter::Counter};
use crate::{
    Slot,
    boot::{BootFlow, head_to_zero},
    disk::{Access, Area, Disk},
};
use base::error::ToolError;
use std::io;

/// An act on the card or boot chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Make this slot the boot chain's default ([`BootFlow::commit`]).
    Default(Slot),
    /// Arm it for one trial ([`BootFlow::arm`]).
    Arm(Slot),
    /// Undo that ([`BootFlow::disarm`]).
    Disarm,
    /// Zero the head of the slot's boot area, which makes it unbootable. Never the default slot.
    ZeroHead(Slot),
    /// Zero the initramfs' count of boots that were never found healthy.
    ClearCount,
    /// Zero what the initramfs has counted of damage to the slot's root.
    ClearDamage(Slot),
}

/// A transition, decided but not performed yet.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Step {
    pub before: Vec<Act>,
    /// `None`: the record stays.
    pub state: Option<StateRecord>,
    pub after: Vec<Act>,
}

impl Step {
    /// Changes only the record.
    pub fn to(state: StateRecord) -> Self {
        Self { state: Some(state), ..Self::default() }
    }
    /// Nothing to do.
    pub fn is_nothing(&self) -> bool {
        self.before.is_empty() && self.state.is_none() && self.after.is_empty()
    }
}

/// Performs it: the acts before, one write of the state, the acts after. Stops at the first failure, leaving the rest
/// undone; the next boot settles from there.
///
/// # Errors
/// Those of [`BootFlow`] and [`StateStore::save`]; `failed_precondition` for a head that must not be zeroed.
pub fn perform(disk: &dyn Disk, flow: &dyn BootFlow, store: &mut StateStore, step: &Step) -> Result<(), ToolError> {
    step.before.iter().try_for_each(|act| act.perform(disk, flow))?;
    if let Some(state) = &step.state {
        // Whoever decides about slots has dealt with the loss and set a valid state.
        store.save(disk, &StateRecord { lost: false, ..state.clone() })?;
    }
    step.after.iter().try_for_each(|act| act.perform(disk, flow))
}

impl Act {
    fn perform(self, disk: &dyn Disk, flow: &dyn BootFlow) -> Result<(), ToolError> {
        match self {
            Self::Default(slot) => flow.commit(slot),
            Self::Arm(slot) => flow.arm(slot),
            Self::Disarm => flow.disarm(),
            Self::ZeroHead(slot) => zero_head(disk, flow, slot),
            Self::ClearCount => Counter::UnhealthyBoots.clear(disk),
            Self::ClearDamage(slot) => Counter::Damage.clear_of(disk, slot),
        }
    }
}

/// Sector 0 first, in a write of its own: if the rest is torn, there is no file system already. Does nothing if sector
/// 0 is zero.
fn zero_head(disk: &dyn Disk, flow: &dyn BootFlow, slot: Slot) -> Result<(), ToolError> {
    let seen = flow.evidence();
    if seen.default != Some(slot.other()) || seen.running() == Some(slot) {
        return Err(ToolError::precondition(format!(
            "slot {slot} runs or is the boot chain's default: its head stays"
        ))
        .hint("make the other slot the default first"));
    }
    let device = disk.open(Area::Boot(slot), Access::Exclusive)?;
    let failed = |error: io::Error| {
        ToolError::unavailable(format!("the head of slot {slot} cannot be zeroed: {error}"))
            .with("area", Area::Boot(slot).name())
            .hint("the next boot tries again; the card may be worn out")
    };
    let mut first = [0; 512];
    device.read_back(0, &mut first).map_err(failed)?;
    if first == [0; 512] {
        return Ok(());
    }
    let head = head_to_zero(&first, device.size());
    device.write(0, &[0; 512]).and_then(|()| device.flush()).map_err(failed)?;
    let rest = usize::try_from(head).unwrap_or(0).saturating_sub(512);
    device.write(512, &vec![0; rest]).and_then(|()| device.flush()).map_err(failed)?;
    device.read_back(0, &mut first).map_err(failed)?;
    if first == [0; 512] { Ok(()) } else { Err(failed(io::Error::other("it reads back as it was"))) }
}
