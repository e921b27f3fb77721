//! Whether the running version has reached its channel since its commit: recorded beside it, so that neither the loss of the data partition nor
//! another channel's name months later looks like a version that cannot update itself any more.

use super::{StateRecord, Step};
use crate::{Slot, boot::Evidence};

/// The step that records it. `None` where nothing is to be done: it is recorded already, or the running version has no commit yet.
pub fn channel_reached(state: &StateRecord, seen: &Evidence) -> Option<Step> {
    let slot = committed(state, seen).filter(|slot| !state.slots.of(*slot).channel_reached)?;
    let mut next = state.clone();
    next.slots.of_mut(slot).channel_reached = true;
    Some(Step::to(next))
}

/// Whether it is recorded.
pub fn has_reached_channel(state: &StateRecord, seen: &Evidence) -> bool {
    committed(state, seen).is_some_and(|slot| state.slots.of(slot).channel_reached)
}

/// The running slot, unless it is on trial.
fn committed(state: &StateRecord, seen: &Evidence) -> Option<Slot> {
    seen.running().filter(|slot| state.update.as_ref().is_none_or(|update| update.target != *slot))
}
