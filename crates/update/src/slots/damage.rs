//! A root that the initramfs found damaged, by reading it all through dm-verity. It left a count of that
//! ([`Counter::Damage`]) for the agent of the other slot, which records it as what is wrong with that slot.

use super::{Act, BootState, Settled, StateRecord, counter::Counted};
use crate::{Slot, status::SlotState};

/// What is noted of a slot whose root is damaged.
const NOTE: &str = "its root is damaged on the card: found by dm-verity";

/// The faults of a status: slots whose root was found damaged.
pub(super) fn faults(damaged: Counted) -> Vec<String> {
    let found = Slot::BOTH.into_iter().filter(|slot| damaged.of(*slot) > 0);
    found.map(|slot| format!("slot {slot}: {NOTE}")).collect()
}

/// Adds to the step of this start that the other slot is damaged. A slot that an update is pending for is judged by its
/// trial, or is being written anyway. What the running slot found in itself stays: with U-Boot, the initramfs goes by it.
pub(super) fn record(settled: &mut Settled, state: &StateRecord, running: Option<Slot>, damaged: Counted) {
    let Some(other) = running.map(Slot::other).filter(|other| damaged.of(*other) > 0) else { return };
    // Where nothing may be written of the slots, this waits as well.
    let open = matches!(settled.standing, BootState::Elsewhere | BootState::Halves | BootState::Unrecorded);
    if open || state.lost {
        return;
    }
    let mut next = settled.step.state.clone().unwrap_or_else(|| state.clone());
    let pending = next.update.as_ref().is_some_and(|update| update.target == other);
    let slot = next.slots.of_mut(other);
    if !pending && !slot.barred {
        slot.state = SlotState::Bad;
        slot.note = Some(NOTE.into());
        settled.step.state = Some(next);
    }
    settled.step.after.push(Act::ClearDamage(other));
}
