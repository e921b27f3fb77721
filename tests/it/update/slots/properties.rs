//! Whatever happens in whatever order: some slot boots, nothing is committed that was not found healthy, no floor falls, nothing is armed
//! more than three times.

use super::machine::{FREE, Machine, NOW, candidate, failed};
use crate::update::boot::{BOOT, ROOT};
use ::update::{
    Slot,
    boot::ResetCause,
    disk::{Access, Area, Disk, MemoryDisk},
    simulated::{SimulatedBootChain, boot_image},
    slots::{self, BootState, MOST_ARMINGS},
};
use proptest::prelude::*;
use std::{collections::BTreeSet, io};

#[derive(Clone, Debug)]
enum Deed {
    Install(u64),
    Restart(ResetCause),
    RestartIntoTrial,
    Commit,
    Condemn(bool),
    JudgeOld(bool),
    Healthy,
    RollBack,
    /// The head of the slot that does not run, if the one that runs is whole.
    Rot,
    UbootForgets,
    /// One copy of the record, or both.
    RecordRots(u8),
}

/// A deed, and after how many writes and flushes the power fails in it.
type Turn = (Deed, Option<usize>);

fn deeds() -> impl Strategy<Value = Vec<Turn>> {
    let reset = prop_oneof![Just(ResetCause::PowerOn), Just(ResetCause::Watchdog)];
    let deed = prop_oneof![
        4 => (2..6_u64).prop_map(Deed::Install),
        3 => reset.prop_map(Deed::Restart),
        6 => Just(Deed::RestartIntoTrial),
        5 => Just(Deed::Commit),
        2 => any::<bool>().prop_map(Deed::Condemn),
        2 => any::<bool>().prop_map(Deed::JudgeOld),
        4 => Just(Deed::Healthy),
        2 => Just(Deed::RollBack),
        1 => Just(Deed::Rot),
        1 => Just(Deed::UbootForgets),
        1 => (0..3_u8).prop_map(Deed::RecordRots),
    ];
    prop::collection::vec((deed, prop::option::weighted(0.3, 0..12_usize)), 1..28)
}

/// What is known from outside.
#[derive(Default)]
struct Known {
    /// Counters that were found healthy.
    proved: BTreeSet<u64>,
    floor: u64,
    /// The record was lost in both copies: what it remembers begins anew.
    lost: bool,
    boots: usize,
}

fn whole(pi: &Machine, slot: Slot) -> Option<u64> {
    let read = |area, size| {
        let mut bytes = vec![0; size];
        pi.disk.open(area, Access::Read).unwrap().read(0, &mut bytes).unwrap();
        bytes
    };
    let (boot, root) = (read(Area::Boot(slot), BOOT), read(Area::Root(slot), ROOT));
    (1..6).find(|counter| {
        let version = format!("{counter}.0.0");
        boot == boot_image(BOOT, &version).unwrap() && root == [*counter as u8; ROOT]
    })
}

/// One deed, if it is one that could be done now; `Ok` whether or not it was refused.
fn turn(pi: &mut Machine, deed: &Deed, known: &mut Known) {
    // Refusals are answers here; what must hold is asked after them.
    match deed {
        Deed::Install(counter) => {
            let candidate = candidate(*counter);
            if pi.install(&candidate).is_ok() {
                assert!(
                    *counter >= known.floor || known.lost,
                    "{counter} was installed below the floor {}",
                    known.floor
                );
            }
        }
        Deed::Restart(why) => {
            pi.boot_if(*why);
        }
        Deed::RestartIntoTrial => {
            // Whoever orders a trial ends the wait for what was missing.
            let waits = pi.state().update.as_ref().is_some_and(|update| !update.waits_for.is_empty());
            if waits && pi.does(slots::end_wait(pi.state())).is_err() {
                return;
            }
            let step = slots::restarting(pi.state(), &pi.seen(), true, "update", FREE, NOW);
            if pi.does(step).is_ok() {
                pi.boot_if(ResetCause::Watchdog);
            }
        }
        Deed::Commit => {
            let BootState::Trial(trial) = &pi.standing else { return };
            if let Ok(step) = slots::commit(pi.state(), trial, &pi.seen()) {
                known.proved.extend(whole(pi, trial.slot()));
                if pi.ledger.perform(&step).is_ok() {
                    let step = slots::committed(pi.state(), &pi.seen(), NOW);
                    if pi.does(step).is_ok() {
                        pi.standing = BootState::Normal;
                    }
                }
            }
        }
        Deed::Condemn(by_person) => {
            let BootState::Trial(trial) = &pi.standing else { return };
            let step = slots::condemn(pi.state(), trial, failed("sick", *by_person, None));
            if pi.does(step).is_ok() {
                pi.boot_if(ResetCause::Watchdog);
            }
        }
        Deed::JudgeOld(online) => {
            let step = slots::judge_old(
                pi.state(),
                &pi.seen(),
                if *online { slots::OldSystem::Online } else { slots::OldSystem::Offline },
                NOW,
            );
            let _ = pi.does(step);
        }
        Deed::Healthy => {
            if pi.standing == BootState::Walked {
                known.proved.extend(whole(pi, pi.running()));
            }
            let _ = pi.healthy();
        }
        Deed::RollBack => {
            let step = slots::roll_back(pi.state(), &pi.seen(), "a person", NOW);
            let _ = pi.does(step);
        }
        Deed::Rot | Deed::UbootForgets => rot(pi, deed, known),
        Deed::RecordRots(_) => {
            rot(pi, deed, known);
            pi.boot_if(ResetCause::PowerOn);
        }
    }
}

fn rot(pi: &Machine, deed: &Deed, known: &mut Known) {
    let write = |area, at, bytes: &[u8]| pi.disk.open(area, Access::Shared).unwrap().write(at, bytes).unwrap();
    let running = pi.running();
    match deed {
        Deed::Rot if whole(pi, running).is_some() => write(Area::Boot(running.other()), 0, &[0; 512]),
        Deed::UbootForgets => [0, 1].into_iter().for_each(|copy| write(Area::UbootCopy(copy), 0, &[0; 512])),
        Deed::RecordRots(which) => {
            let quarter = pi.disk.open(Area::AgentState, Access::Read).unwrap().size() / 4;
            let copies = if *which == 2 { 0..2 } else { u64::from(*which)..u64::from(*which) + 1 };
            copies.for_each(|copy| write(Area::AgentState, quarter * (copy + 1), b"garbage"));
            // One may have been the newer one, or the only one.
            known.lost = true;
        }
        _ => {}
    }
}

fn holds(pi: &Machine, known: &mut Known) {
    let slot = pi.running();
    assert!(whole(pi, slot).is_some(), "slot {slot} runs and is not whole");
    let state = pi.state();
    assert!(state.counter_floor >= known.floor || known.lost, "the floor fell to {}", state.counter_floor);
    known.floor = state.counter_floor;
    let proved = state.counter_floor == 0 || known.proved.contains(&state.counter_floor);
    assert!(proved, "{} was committed and never found healthy: {:?}", state.counter_floor, known.proved);
    if let Some(update) = &state.update {
        assert!(update.armings <= MOST_ARMINGS && update.trials.len() <= usize::from(MOST_ARMINGS) + 1, "{update:?}");
    }
    if let BootState::Trial(trial) = &pi.standing {
        assert_eq!(trial.slot(), slot);
    }
}

fn lives(chain: SimulatedBootChain, turns: &[Turn]) {
    let mut pi = Machine::new(chain);
    let mut known = Known::default();
    for (deed, cut) in turns {
        if let Some(writes) = cut {
            pi.disk.fail_after(*writes, io::ErrorKind::Other);
        }
        let rots = matches!(deed, Deed::Rot | Deed::UbootForgets | Deed::RecordRots(_));
        if !(rots && cut.is_some()) {
            turn(&mut pi, deed, &mut known);
        }
        if cut.is_some() {
            known.boots += 1;
            pi = Machine::on(MemoryDisk::of(pi.disk.content()), chain, known.boots);
        }
        for _ in 0..12 {
            holds(&pi, &mut known);
            if !matches!(pi.standing, BootState::Restart(_)) {
                break;
            }
            pi.boot(ResetCause::Watchdog);
        }
        assert!(!matches!(pi.standing, BootState::Restart(_)), "it restarts for ever: {:?} {:?}", pi.case, pi.state());
        known.lost = false;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_life_with_tryboot(turns in deeds()) {
        lives(SimulatedBootChain::Tryboot, &turns);
    }

    #[test]
    fn any_life_with_uboot(turns in deeds()) {
        lives(SimulatedBootChain::Uboot, &turns);
    }
}

/// Found by the test above, one life in some thousands: each start that nobody asked for was added to the list of trials.
#[test]
fn a_chain_that_keeps_forgetting_does_not_make_the_record_grow() {
    use Deed::{Install, Restart, RestartIntoTrial, UbootForgets};
    let turns = [
        (Restart(ResetCause::PowerOn), None),
        (Restart(ResetCause::PowerOn), Some(1)),
        (Install(2), None),
        (UbootForgets, None),
        (RestartIntoTrial, None),
        (UbootForgets, None),
        (RestartIntoTrial, None),
        (Install(2), Some(0)),
    ];
    lives(SimulatedBootChain::Uboot, &turns);
}
