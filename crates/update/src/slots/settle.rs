//! The agent's decision at start: by the table, the record and the boot chain's evidence determine the machine's
//! standing.

use super::{
    Act, FailedTrial, MOST_ARMINGS, PendingUpdate, Stage, StateRecord, Step, Trial,
    effects::{arm_again, cause, give_up, good, remember_trial},
    last_words::{hear, of_trial},
    table::{self, Case, View},
    trial::finish,
    write::{bounded, end_attempt, set_phase},
};
use crate::{
    Slot,
    boot::Evidence,
    status::{Phase, SlotState},
};

/// Other inputs at start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Here {
    /// Milliseconds since 1970, by this machine's clock.
    pub now_ms: i64,
    /// The running image's own version and counter, if it has them.
    pub version: Option<String>,
    pub counter: Option<u64>,
}

/// The standing of this boot.
#[derive(Debug, PartialEq, Eq)]
pub enum BootState {
    /// It runs from neither slot: updates are unavailable.
    Elsewhere,
    /// Boot files and root are of different slots.
    Halves,
    /// Normal operation.
    Normal,
    /// Normal operation, and an interrupted install can be resumed.
    Interrupted,
    /// The other slot is armed and waits for a restart.
    Armed,
    /// The running slot is on trial.
    Trial(Trial),
    /// A fallback: the running slot is not the boot chain's default. Once healthy it becomes it.
    Walked,
    /// A trial failed; whether this slot is online decides how to continue ([`super::judge_old`]).
    RolledBack,
    /// Restart now, without trial argument: the running system must not continue. With the reason.
    Restart(String),
    /// Nothing is recorded of the running slot: only a person may make it the default.
    Unrecorded,
}

/// The decision.
#[derive(Debug, PartialEq)]
pub struct Settled {
    /// The row of the table.
    pub case: Case,
    pub step: Step,
    pub standing: BootState,
}

/// Decides by the table of docs/update.md. Call it once at each start of the agent, before anything else. Performing
/// the step and calling it again gives the same standing.
pub fn settle(state: &StateRecord, seen: &Evidence, here: &Here) -> Settled {
    let view = View::of(state, seen);
    let case = table::row(view).map_or(Case::Elsewhere, |row| row.case);
    let mut next = state.clone();
    if let Some(running) = seen.running() {
        learn(&mut next, running, here);
    }
    let (mut step, standing) = decide(case, next, seen, here);
    bar(&mut step, state, seen, &standing);
    if step.state.as_ref() == Some(state) {
        step.state = None;
    }
    Settled { case, step, standing }
}

fn decide(case: Case, mut next: StateRecord, seen: &Evidence, here: &Here) -> (Step, BootState) {
    let target = next.update.as_ref().map_or(Slot::A, |update| update.target);
    let old = target.other();
    let back = |seen: &Evidence| if seen.default == Some(old) { vec![] } else { vec![Act::Default(old)] };
    let plain = Step::to;
    match case {
        Case::Elsewhere => (Step::default(), BootState::Elsewhere),
        Case::Halves => (Step::default(), BootState::Halves),
        Case::HalvesInTrial => condemned(next, seen, "boot files and root are of different slots"),
        Case::TrialInDoubt => condemned(next, seen, "the boot partition or the root it runs from cannot be told"),
        Case::TrialGoesOn => trial(next, seen),
        Case::TrialBegins => begins(next, seen, here),
        Case::TrialChainLost => {
            let (mut step, standing) = begins(next, seen, here);
            step.before = vec![Act::Default(old)];
            (step, standing)
        }
        Case::CommittedUnrecorded => (finish(&next, here.now_ms), BootState::Normal),
        Case::CommitCut => {
            let step = finish(&next, here.now_ms);
            (Step { before: vec![Act::Default(target)], ..step }, BootState::Normal)
        }
        Case::TargetByDefault if times(&next) < MOST_ARMINGS => {
            remember_trial(&mut next, seen);
            let reason = "the boot chain forgot its default, and started what was not to be started";
            (Step { before: vec![Act::Default(old)], ..plain(next) }, BootState::Restart(reason.into()))
        }
        Case::TargetByDefault
        | Case::TargetForOther
        | Case::BadButDefault
        | Case::Walked
        | Case::WalkedLost
        | Case::ChainLostUnproven
        | Case::BothLost => (plain(next), BootState::Walked),
        Case::Interrupted | Case::InterruptedChainLost => {
            (Step { before: back(seen), ..plain(next) }, BootState::Interrupted)
        }
        Case::ArmedWaits => (Step { before: back(seen), ..plain(next) }, BootState::Armed),
        Case::ArmedNotTried => {
            next.orderly = None;
            let may_start = next.update.as_ref().is_some_and(PendingUpdate::may_start);
            if let Some(update) = &mut next.update {
                update.armed_in.clone_from(&seen.boot_id);
                hear(update, seen);
                update.lost = update.lost.saturating_add(u8::from(may_start));
            }
            if let Some(attempt) = next.last_attempt.as_mut().filter(|_| may_start) {
                attempt.reason = "armed, not tried: the machine restarted some other way".into();
            }
            (Step { before: back(seen), ..plain(next) }, BootState::Armed)
        }
        Case::TrialDied => {
            remember_trial(&mut next, &Evidence { boot_id: None, ..seen.clone() });
            let (reset, _) = cause(&next, seen);
            let words = of_trial(next.update.as_ref(), seen);
            tell(&mut next, &reset, words);
            let reason = format!("the trial died before the agent started (reset: {reset})");
            standing_of(arm_again(&next, seen, &reason, here.now_ms))
        }
        Case::CommittedButDead => {
            let words = of_trial(next.update.as_ref(), seen);
            tell(&mut next, seen.reset.map_or("unknown", |reset| reset.name()), words);
            (give_up(&next, "it was committed, and then it did not start", here.now_ms), BootState::Normal)
        }
        Case::RolledBack => rolled_back(next, seen, here),
        Case::RolledBackWaits => (plain(next), BootState::RolledBack),
        Case::Normal | Case::FirstStart | Case::ChainLost => {
            let running = seen.running();
            running.into_iter().for_each(|slot| good(&mut next, slot));
            let before = running.filter(|_| case == Case::ChainLost).map(Act::Default).into_iter().collect();
            (Step { before, ..plain(next) }, BootState::Normal)
        }
        // Nothing is written, not even the running version: a write would mark the record as intact.
        Case::Unrecorded => (Step::default(), BootState::Unrecorded),
    }
}

/// How often the target was started.
fn times(state: &StateRecord) -> u8 {
    state.update.as_ref().map_or(0, |update| u8::try_from(update.trials.len()).unwrap_or(u8::MAX))
}

/// Begins a trial that may be committed.
fn begins(mut next: StateRecord, seen: &Evidence, here: &Here) -> (Step, BootState) {
    let known = next.update.as_ref().is_some_and(|update| update.trials.last() == seen.boot_id.as_ref());
    if !known && times(&next) >= MOST_ARMINGS {
        return condemned(next, seen, &format!("it was started {MOST_ARMINGS} times already"));
    }
    remember_trial(&mut next, seen);
    let Some(update) = &mut next.update else { return (Step::default(), BootState::Normal) };
    update.stage = Stage::Trial;
    hear(update, seen);
    next.slots.of_mut(update.target).state = SlotState::Trial;
    set_phase(&mut next, Phase::Trial);
    if let Some(attempt) = &mut next.last_attempt {
        attempt.finished_ms = None;
        if attempt.started_ms == 0 {
            attempt.started_ms = here.now_ms;
        }
    }
    trial(next, seen)
}

/// The trial runs, unless it was marked as failed.
fn trial(next: StateRecord, seen: &Evidence) -> (Step, BootState) {
    let Some(update) = &next.update else { return (Step::default(), BootState::Normal) };
    let standing = match &update.verdict {
        Some(verdict) => BootState::Restart(verdict.reason.clone()),
        None => BootState::Trial(Trial::new(update.target, seen.boot_id.clone())),
    };
    (Step::to(next), standing)
}

fn condemned(mut next: StateRecord, seen: &Evidence, reason: &str) -> (Step, BootState) {
    remember_trial(&mut next, seen);
    if let Some(update) = &mut next.update {
        update.stage = Stage::Trial;
        update.verdict.get_or_insert(FailedTrial { reason: reason.into(), ..FailedTrial::default() });
    }
    set_phase(&mut next, Phase::Trial);
    (Step::to(next), BootState::Restart(reason.into()))
}

fn rolled_back(mut next: StateRecord, seen: &Evidence, here: &Here) -> (Step, BootState) {
    let (reset, why) = cause(&next, seen);
    let words = of_trial(next.update.as_ref(), seen);
    let Some(update) = &mut next.update else { return (Step::default(), BootState::Normal) };
    let Some(verdict) = update.verdict.clone() else {
        tell(&mut next, &reset, words);
        return standing_of(arm_again(&next, seen, &why, here.now_ms));
    };
    update.stage = Stage::RolledBack;
    tell(&mut next, &reset, verdict.log_tail.clone().or(words));
    if verdict.by_person {
        return (give_up(&next, &verdict.reason, here.now_ms), BootState::Normal);
    }
    end_attempt(&mut next, Phase::RolledBack, &verdict.reason, here.now_ms);
    (Step::to(next), BootState::RolledBack)
}

/// Armed again, or given up.
fn standing_of(step: Step) -> (Step, BootState) {
    let armed = step.state.as_ref().is_some_and(|state| state.update.is_some());
    (step, if armed { BootState::Armed } else { BootState::Normal })
}

fn tell(state: &mut StateRecord, reset: &str, log_tail: Option<String>) {
    if let Some(attempt) = &mut state.last_attempt {
        attempt.reset_cause = Some(bounded(reset));
        attempt.log_tail = log_tail.or_else(|| attempt.log_tail.take());
    }
}

/// The running image states its own version; a different recorded one was of another image.
fn learn(state: &mut StateRecord, running: Slot, here: &Here) {
    let record = state.slots.of_mut(running);
    if here.version.is_some() && record.version != here.version {
        record.version.clone_from(&here.version);
        record.manifest = None;
        record.counter = here.counter;
    }
}

/// A slot that must not be started, but was left bootable by a power cut: its head is zeroed now, provided that the
/// default is another slot.
fn bar(step: &mut Step, state: &StateRecord, seen: &Evidence, standing: &BootState) {
    let Some(running) = seen.running() else { return };
    let other = running.other();
    let settled = step.state.as_ref().unwrap_or(state);
    let stands = seen.default == Some(running) || step.before.contains(&Act::Default(running));
    let calm = matches!(standing, BootState::Normal | BootState::Interrupted);
    if stands && calm && settled.slots.of(other).barred && !step.after.contains(&Act::ZeroHead(other)) {
        step.after.push(Act::ZeroHead(other));
    }
}
