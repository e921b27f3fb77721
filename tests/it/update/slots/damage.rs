//! A root that the initramfs found damaged: what the agent of the other slot makes of it.

use super::machine::{FREE, Machine, NOW, candidate};
use ::update::{
    Slot,
    boot::ResetCause,
    disk::{Access, Area, Disk},
    simulated::SimulatedBootChain,
    slots::{
        self, BootState, Case, Here, Ledger,
        counter::{Counted, Counter},
    },
    status::SlotState,
};

const NOTE: &str = "its root is damaged on the card: found by dm-verity";

/// As the initramfs counts it.
fn finds(pi: &Machine, letters: &[u8]) {
    let device = pi.disk.open(Area::AgentState, Access::Shared).unwrap();
    device.write(Counter::Damage.at(), letters).unwrap();
}

fn found(pi: &Machine) -> (u32, u32) {
    let Counted { a, b } = Counter::Damage.read(&pi.disk).unwrap();
    (a, b)
}

/// Version 2 runs from slot B and is the default; its root is found damaged in slot B, and slot A starts.
fn left(chain: SimulatedBootChain) -> Machine {
    let mut pi = Machine::new(chain);
    pi.healthy().unwrap();
    pi.install(&candidate(2)).unwrap();
    assert_eq!(pi.restart_into_trial(), Case::TrialBegins);
    pi.commit().unwrap();
    assert_eq!(pi.boot(ResetCause::PowerOn), Case::Normal);
    pi.healthy().unwrap();
    match chain {
        SimulatedBootChain::Tryboot => {
            finds(&pi, b"B");
            pi.flow.arm(Slot::A).unwrap();
        }
        SimulatedBootChain::Uboot => {
            // Each of them finds it before any agent runs.
            finds(&pi, b"BBB");
            (0..3).for_each(|_| drop(pi.board.restart(ResetCause::Watchdog)));
        }
    }
    assert_eq!((pi.boot(ResetCause::Watchdog), pi.running()), (Case::Walked, Slot::A));
    pi
}

#[test]
fn the_agent_of_the_other_slot_records_it_and_forgets_the_count() {
    for chain in [SimulatedBootChain::Tryboot, SimulatedBootChain::Uboot] {
        let mut pi = left(chain);
        let slot = pi.state().slots.b.clone();
        assert_eq!((slot.state, slot.note.as_deref(), found(&pi)), (SlotState::Bad, Some(NOTE), (0, 0)));
        assert_eq!(pi.ledger.faults(), [format!("slot B: {NOTE}")]);
        pi.healthy().unwrap();
        assert_eq!(pi.state().slots.b.note.as_deref(), Some(NOTE), "not that it did not start");
        assert_eq!(pi.seen().default, Some(Slot::A));
        let refused = slots::roll_back(pi.state(), &pi.seen(), "a person", NOW).unwrap_err();
        assert!(refused.message.contains(NOTE), "{refused}");
        assert_eq!((pi.boot(ResetCause::PowerOn), pi.running()), (Case::Normal, Slot::A));
        assert_eq!(pi.ledger.faults(), [""; 0]);
    }
}

#[test]
fn the_same_release_is_installed_there_again() {
    for chain in [SimulatedBootChain::Tryboot, SimulatedBootChain::Uboot] {
        let mut pi = left(chain);
        pi.healthy().unwrap();
        assert_eq!((pi.state().blocked.len(), pi.state().counter_floor), (0, 2));
        pi.install(&candidate(2)).unwrap();
        assert_eq!(pi.restart_into_trial(), Case::TrialBegins);
        pi.commit().unwrap();
        let slot = &pi.state().slots.b;
        assert_eq!((pi.running(), slot.state, slot.note.as_deref()), (Slot::B, SlotState::Good, None));
    }
}

#[test]
fn what_is_written_over_is_not_damaged_any_more() {
    let mut pi = Machine::new(SimulatedBootChain::Tryboot);
    pi.healthy().unwrap();
    finds(&pi, b"BAB");
    pi.install(&candidate(2)).unwrap();
    assert_eq!(found(&pi), (1, 0));
}

#[test]
fn the_running_slot_keeps_its_own_count_and_says_so() {
    let mut pi = Machine::new(SimulatedBootChain::Uboot);
    pi.healthy().unwrap();
    finds(&pi, b"AAA");
    assert_eq!(pi.boot(ResetCause::Watchdog), Case::Normal);
    assert_eq!(pi.ledger.faults(), [format!("slot A: {NOTE}")]);
    pi.healthy().unwrap();
    assert_eq!((found(&pi), pi.state().slots.a.state), ((3, 0), SlotState::Good));
}

#[test]
fn a_release_that_is_being_tried_is_judged_by_its_trial() {
    let mut pi = Machine::new(SimulatedBootChain::Tryboot);
    pi.healthy().unwrap();
    pi.install(&candidate(2)).unwrap();
    pi.does(slots::restarting(pi.state(), &pi.seen(), true, "update", FREE, NOW)).unwrap();
    pi.board.restart(ResetCause::Watchdog);
    finds(&pi, b"B");
    assert_eq!((pi.boot(ResetCause::Watchdog), pi.running()), (Case::TrialDied, Slot::A));
    assert_eq!((pi.state().slots.b.state, found(&pi)), (SlotState::Armed, (0, 0)), "it is tried again");
}

#[test]
fn what_runs_instead_may_itself_be_on_trial() {
    let mut pi = Machine::new(SimulatedBootChain::Tryboot);
    pi.healthy().unwrap();
    pi.install(&candidate(2)).unwrap();
    // It waits for its hour when slot A is found damaged and asks for slot B.
    finds(&pi, b"A");
    pi.flow.arm(Slot::B).unwrap();
    assert_eq!((pi.boot(ResetCause::Watchdog), pi.running()), (Case::TrialBegins, Slot::B));
    assert_eq!((pi.state().slots.a.note.as_deref(), found(&pi)), (Some(NOTE), (0, 0)));
    pi.commit().unwrap();
    assert_eq!((pi.boot(ResetCause::PowerOn), pi.running()), (Case::Normal, Slot::B));
}

#[test]
fn a_lost_record_is_not_written_for_it() {
    let mut pi = left(SimulatedBootChain::Tryboot);
    let device = pi.disk.open(Area::AgentState, Access::Shared).unwrap();
    let quarter = device.size() / 4;
    [1, 2].into_iter().for_each(|copy| device.write(quarter * copy, &[7; 4096]).unwrap());
    finds(&pi, b"B");
    pi.ledger = Ledger::open(std::sync::Arc::new(pi.disk.clone()), pi.flow.clone()).unwrap();
    let (settled, done) = pi.ledger.settle(&Here { now_ms: NOW, ..Here::default() });
    done.unwrap();
    assert_eq!((settled.standing, pi.state().lost, found(&pi)), (BootState::Unrecorded, true, (0, 1)));
}

#[test]
fn a_count_is_emptied_as_a_whole_or_of_one_slot() {
    let pi = Machine::new(SimulatedBootChain::Uboot);
    let device = pi.disk.open(Area::AgentState, Access::Shared).unwrap();
    device.write(Counter::Starts.at(), b"ABxAB").unwrap();
    Counter::Starts.clear_of(&pi.disk, Slot::A).unwrap();
    let mut sector = [0; 512];
    device.read(Counter::Starts.at(), &mut sector).unwrap();
    assert_eq!((&sector[..2], &sector[2..]), (&b"BB"[..], &[0; 510][..]));
    Counter::Starts.clear(&pi.disk).unwrap();
    assert_eq!(Counter::Starts.read(&pi.disk).unwrap(), Counted::default());
    pi.disk.take_events();
    Counter::Starts.clear(&pi.disk).unwrap();
    Counter::Damage.clear_of(&pi.disk, Slot::B).unwrap();
    assert_eq!(pi.disk.take_events(), [], "what is empty is not written");
}

#[test]
fn a_count_that_was_left_when_the_release_was_installed_ends_with_its_commit() {
    let mut pi = Machine::new(SimulatedBootChain::Tryboot);
    pi.healthy().unwrap();
    pi.install(&candidate(2)).unwrap();
    finds(&pi, b"BA");
    assert_eq!(pi.restart_into_trial(), Case::TrialBegins);
    pi.commit().unwrap();
    assert_eq!((pi.running(), found(&pi)), (Slot::B, (0, 0)), "of slot A it is recorded");
    assert_eq!(pi.state().slots.a.note.as_deref(), Some(NOTE));
}
