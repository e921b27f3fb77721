//! The effects of a healthy boot outside of a trial.

use super::{Act, BootState, StateRecord, Step, effects::good, trial::finish};
use crate::{Slot, boot::Evidence, status::SlotState};
use base::error::ToolError;

/// The running slot is healthy: where the boot chain counts, its tries are reset; the initramfs' count is zeroed; after
/// a fallback, the running slot becomes the default. `by_person`: a person confirms it, which an unrecorded slot
/// requires.
///
/// # Errors
/// `failed_precondition` in a trial (see [`super::commit`]), and where no slot may be made the default.
pub fn healthy(
    state: &StateRecord,
    seen: &Evidence,
    standing: &BootState,
    by_person: bool,
    now_ms: i64,
) -> Result<Step, ToolError> {
    let refuse = |why: &str, hint: &str| Err(ToolError::precondition(why).hint(hint));
    let Some(running) = seen.running() else {
        return refuse("this system does not run from one slot of the card", "nothing can be marked good here");
    };
    match standing {
        BootState::Normal | BootState::Interrupted | BootState::RolledBack => {
            Ok(Step { before: Vec::new(), state: None, after: vec![Act::Default(running), Act::ClearCount] })
        }
        // Setting the default again would disarm the other slot.
        BootState::Armed => Ok(Step { after: vec![Act::ClearCount], ..Step::default() }),
        BootState::Walked => Ok(walked(state, seen, running, now_ms)),
        BootState::Unrecorded if by_person => Ok(walked(state, seen, running, now_ms)),
        BootState::Unrecorded => refuse("nothing is recorded of the running slot", "a person may mark it good"),
        BootState::Trial(_) => refuse("a trial is committed, not marked", "commit it"),
        BootState::Elsewhere | BootState::Halves => {
            refuse("this system does not run from one slot of the card", "nothing can be marked good here")
        }
        BootState::Restart(why) => refuse(why, "restart"),
    }
}

/// Makes the running slot the default, then records that.
fn walked(state: &StateRecord, seen: &Evidence, running: Slot, now_ms: i64) -> Step {
    let ours = state.update.as_ref().is_some_and(|update| update.target == running);
    let step =
        if ours { finish(state, now_ms) } else { Step { after: vec![Act::ClearCount], ..Step::to(state.clone()) } };
    let mut next = step.state.unwrap_or_else(|| state.clone());
    good(&mut next, running);
    let other = next.slots.of_mut(running.other());
    // A chain that counts prefers the other slot already when its default has few boots left; the default is dead only
    // at zero.
    let other_named = [seen.default, seen.armed].contains(&Some(running.other()));
    let unstarted = match seen.tries {
        Some(tries) => other_named && tries.of(running.other()) == 0,
        None => seen.default == Some(running.other()),
    };
    let passed_over = unstarted && matches!(other.state, SlotState::Good | SlotState::Unknown);
    if passed_over {
        other.state = SlotState::Bad;
        other.note = Some("it was the boot chain's default, and did not start".into());
    }
    Step { before: vec![Act::Default(running)], state: Some(next), after: step.after }
}
