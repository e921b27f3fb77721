//! The rules of updates that the slots keep, each by name, on both boot chains.

use super::machine::{FREE, Machine, NOW, asked, candidate, failed};
use ::update::{
    Slot,
    boot::{Evidence, ResetCause},
    bundle::{Renamed, ServiceChanges},
    disk::{Access, Area, Disk},
    health::Missing,
    simulated::SimulatedBootChain,
    slots::{
        self, AdmissionInput, BootState, Candidate, Case, FailedTrial, OldSystem, Step, UpdateLimits,
        counter::{self, Counted, Counter},
    },
    status::{Phase, SlotState},
};
use base::error::ErrorCode;

fn both(test: impl Fn(Machine, SimulatedBootChain)) {
    for chain in [SimulatedBootChain::Tryboot, SimulatedBootChain::Uboot] {
        test(Machine::new(chain), chain);
    }
}

#[test]
fn an_update_is_written_armed_tried_and_committed_and_the_floors_rise_with_the_commit() {
    both(|mut pi, _| {
        pi.install(&candidate(2)).unwrap();
        assert_eq!(pi.phase(), (Phase::Armed, String::new()));
        assert_eq!(pi.restart_into_trial(), Case::TrialBegins);
        assert_eq!((pi.running(), pi.phase().0), (Slot::B, Phase::Trial));
        assert_eq!(pi.state().counter_floor, 0, "rule: never before the commit");
        assert_eq!(pi.settle(), Case::TrialGoesOn, "the agent restarts in the trial");
        pi.commit().unwrap();
        assert_eq!((pi.state().counter_floor, pi.state().time_floor), (2, 1_700_000_002));
        assert_eq!(pi.phase(), (Phase::Committed, String::new()));
        assert_eq!(pi.settle(), Case::Normal, "after a commit without a restart the flag is still set");
        assert_eq!((pi.boot(ResetCause::PowerOn), pi.running()), (Case::Normal, Slot::B));
        pi.healthy().unwrap();
        // And the next one goes to the other slot.
        pi.install(&candidate(3)).unwrap();
        pi.restart_into_trial();
        assert_eq!(pi.running(), Slot::A);
    });
}

#[test]
fn a_trial_that_is_condemned_is_blocked_once_the_old_slot_is_healthy() {
    both(|mut pi, _| {
        pi.install(&candidate(2)).unwrap();
        pi.restart_into_trial();
        pi.condemn("the server does not answer");
        assert_eq!(pi.settle(), Case::TrialGoesOn);
        assert_eq!(pi.standing, BootState::Restart("the server does not answer".into()));
        assert_eq!(pi.boot(ResetCause::Watchdog), Case::RolledBack);
        assert_eq!((pi.running(), &pi.standing), (Slot::A, &BootState::RolledBack));
        assert!(pi.startable(Slot::B), "not before it is judged");
        let step = slots::judge_old(pi.state(), &pi.seen(), OldSystem::Online, NOW);
        pi.does(step).unwrap();
        let attempt = pi.state().last_attempt.clone().unwrap();
        assert_eq!(attempt.phase, Phase::RolledBack);
        assert_eq!(attempt.reason, "the server does not answer");
        assert_eq!(attempt.log_tail.as_deref(), Some("a log"));
        assert_eq!((attempt.reset_cause.as_deref(), attempt.boot_ids.len()), (Some("watchdog"), 1));
        assert!(!pi.startable(Slot::B), "its head is zeroed again");
        let refused = pi.install(&candidate(2)).unwrap_err();
        assert!(refused.message.contains("blocked: the server does not answer"), "{refused}");
        pi.healthy().unwrap();
        pi.install(&candidate(3)).expect("another version is welcome");
    });
}

#[test]
fn rule_5_a_trial_without_a_network_here_as_well_does_not_count_and_waits_for_one() {
    both(|mut pi, _| {
        pi.install(&candidate(2)).unwrap();
        for trial in 1..=slots::MOST_EXCUSED_TRIALS {
            assert_eq!(pi.restart_into_trial(), Case::TrialBegins);
            pi.condemn("no gateway");
            pi.boot(ResetCause::Watchdog);
            let step = slots::judge_old(pi.state(), &pi.seen(), OldSystem::Offline, NOW);
            pi.does(step).unwrap();
            let update = pi.state().update.clone().unwrap();
            assert_eq!((update.armings, update.excused_trials, update.trials.len()), (1, trial, 0));
            // Whatever restarts it meanwhile, for nights on end, starts the old system, and counts for nothing.
            for cause in [ResetCause::PowerOn, ResetCause::Watchdog, ResetCause::UnderVoltage, ResetCause::Software] {
                pi.board.restart(cause);
                assert_eq!(pi.boot(cause), Case::ArmedNotTried);
                assert_eq!(pi.state().update.as_ref().unwrap().lost, 0);
                assert_eq!(pi.seen().running(), Some(Slot::A));
            }
            assert!(pi.phase().1.contains("offline as well"), "{}", pi.phase().1);
            // The network is back.
            pi.does(slots::end_wait(pi.state())).unwrap();
            assert!(pi.state().update.as_ref().unwrap().may_start());
        }
        // Beyond that many it counts like any other.
        for armings in 1..=3 {
            assert_eq!(pi.state().update.as_ref().unwrap().armings, armings);
            assert_eq!(pi.restart_into_trial(), Case::TrialBegins);
            pi.condemn("no gateway");
            pi.boot(ResetCause::Watchdog);
            let step = slots::judge_old(pi.state(), &pi.seen(), OldSystem::Offline, NOW);
            pi.does(step).unwrap();
        }
        assert!(pi.state().update.is_none() && !pi.startable(Slot::B));
        let (phase, reason) = pi.phase();
        assert_eq!(phase, Phase::RolledBack);
        assert!(reason.contains("no gateway") && reason.contains("armed 3 times"), "{reason}");
        assert_eq!(pi.state().last_attempt.as_ref().unwrap().boot_ids.len(), 3);
    });
}

#[test]
fn a_trial_that_lacked_only_the_network_is_repeated_where_the_old_slot_has_it_and_counts() {
    both(|mut pi, _| {
        pi.install(&candidate(2)).unwrap();
        for armings in 1..=slots::MOST_ARMINGS {
            assert_eq!(pi.state().update.as_ref().unwrap().armings, armings);
            assert_eq!(pi.restart_into_trial(), Case::TrialBegins);
            pi.condemn_as(FailedTrial { missing: Missing::network(), ..failed("no gateway", false, None) });
            assert_eq!(pi.boot(ResetCause::Watchdog), Case::RolledBack);
            let step = slots::judge_old(pi.state(), &pi.seen(), OldSystem::Online, NOW);
            pi.does(step).unwrap();
        }
        assert!(pi.state().update.is_none() && !pi.startable(Slot::B));
        assert!(pi.phase().1.contains("no gateway") && pi.phase().1.contains("armed 3 times"), "{:?}", pi.phase());
        // A person who ends such a trial is not overruled.
        pi.install(&candidate(3)).unwrap();
        pi.restart_into_trial();
        pi.condemn_as(FailedTrial { missing: Missing::network(), ..failed("rolled back by pi", true, None) });
        pi.boot(ResetCause::Watchdog);
        assert!(pi.state().update.is_none() && !pi.startable(Slot::B));
    });
}

#[test]
fn rule_3_a_trial_that_ends_without_a_verdict_counts_and_so_does_a_plain_restart() {
    both(|mut pi, _| {
        pi.install(&candidate(2)).unwrap();
        // It dies before the agent sees it: only the marker, or the chain's count, tells.
        slots_marker(&mut pi);
        pi.board.restart(ResetCause::Watchdog);
        assert_eq!(pi.boot(ResetCause::Watchdog), Case::TrialDied);
        assert_eq!(pi.state().update.as_ref().unwrap().armings, 2);
        // A plain restart in the trial.
        assert_eq!(pi.restart_into_trial(), Case::TrialBegins);
        pi.does(slots::restarting(pi.state(), &pi.seen(), false, "a person", FREE, NOW)).unwrap();
        assert_eq!(pi.boot(ResetCause::Watchdog), Case::RolledBack);
        let attempt = pi.state().last_attempt.clone().unwrap();
        assert_eq!(attempt.reset_cause.as_deref(), Some("orderly"));
        assert!(attempt.reason.contains("asked for in the trial: a person"), "{}", attempt.reason);
        // The power fails in it.
        assert_eq!(pi.restart_into_trial(), Case::TrialBegins);
        assert_eq!(pi.boot(ResetCause::PowerOn), Case::RolledBack);
        assert_eq!(pi.standing, BootState::Normal);
        assert!(pi.state().update.is_none() && !pi.startable(Slot::B));
        assert!(pi.phase().1.contains("reset: power_on"), "{}", pi.phase().1);
        assert_eq!(pi.state().blocked.len(), 1);
    });
}

/// The marker alone; the restart is the caller's.
fn slots_marker(pi: &mut Machine) {
    pi.does(slots::restarting(pi.state(), &pi.seen(), true, "update", FREE, NOW)).unwrap();
}

#[test]
fn armed_not_tried_stays_armed_without_a_download_and_without_an_arming() {
    both(|mut pi, _| {
        pi.install(&candidate(2)).unwrap();
        for _ in 0..5 {
            assert_eq!(pi.boot(ResetCause::PowerOn), Case::ArmedNotTried);
            assert_eq!((&pi.standing, pi.running()), (&BootState::Armed, Slot::A));
            assert_eq!(pi.settle(), Case::ArmedWaits);
        }
        assert!(pi.phase().1.contains("armed, not tried"), "{}", pi.phase().1);
        assert_eq!(pi.state().update.as_ref().unwrap().armings, 1);
        assert_eq!(pi.restart_into_trial(), Case::TrialBegins);
        pi.commit().unwrap();
        assert_eq!(pi.phase(), (Phase::Committed, String::new()));
    });
}

#[test]
fn a_restart_that_was_asked_for_and_came_as_a_cut_of_the_power_starts_the_trial_with_uboot() {
    let mut pi = Machine::new(SimulatedBootChain::Uboot);
    pi.install(&candidate(2)).unwrap();
    assert_eq!(pi.seen().armed, None, "not before the restart into it");
    let step = slots::restarting(pi.state(), &pi.seen(), true, "update", FREE, NOW);
    pi.does(step).unwrap();
    assert_eq!(pi.seen().armed, Some(Slot::B));
    assert_eq!((pi.boot(ResetCause::PowerOn), pi.running()), (Case::TrialBegins, Slot::B));
    pi.commit().unwrap();
}

#[test]
fn no_install_while_a_trial_is_uncommitted() {
    both(|mut pi, _| {
        pi.install(&candidate(2)).unwrap();
        assert!(pi.install(&candidate(2)).unwrap_err().message.contains("waits for a restart"));
        pi.restart_into_trial();
        let before = pi.disk.content();
        for counter in [2, 3] {
            assert_eq!(pi.install(&candidate(counter)).unwrap_err().code, ErrorCode::FailedPrecondition);
        }
        pi.does(slots::roll_back(pi.state(), &pi.seen(), "a person", NOW)).unwrap_err();
        assert!(pi.disk.content() == before, "nothing was written");
        pi.condemn("sick");
        pi.boot(ResetCause::Watchdog);
        assert!(pi.install(&candidate(2)).unwrap_err().message.contains("being judged"));
        pi.install(&candidate(3)).expect("another one replaces it");
    });
}

#[test]
fn an_armed_version_that_is_replaced_is_disarmed_before_its_head_goes() {
    both(|mut pi, _| {
        pi.install(&candidate(2)).unwrap();
        // A restart into it that the service manager refused.
        let step = slots::restarting(pi.state(), &pi.seen(), true, "update", FREE, NOW);
        pi.does(step).unwrap();
        let step = pi.begin(&candidate(3), FREE);
        pi.does(step).unwrap();
        assert_eq!((pi.boot(ResetCause::Watchdog), pi.running()), (Case::Interrupted, Slot::A));
        assert!(!pi.startable(Slot::B), "the head that was there is zeroed, by settle if need be");
    });
}

#[test]
fn step_10_a_commit_that_was_cut_is_recorded_at_the_next_boot() {
    both(|mut pi, _| {
        pi.install(&candidate(2)).unwrap();
        pi.restart_into_trial();
        let BootState::Trial(trial) = &pi.standing else { panic!() };
        let step = slots::commit(pi.state(), trial, &pi.seen()).unwrap();
        pi.ledger.perform(&step).unwrap();
        assert_eq!(pi.state().counter_floor, 0);
        assert_eq!((pi.boot(ResetCause::PowerOn), pi.running()), (Case::CommittedUnrecorded, Slot::B));
        assert_eq!((pi.state().counter_floor, pi.phase().0), (2, Phase::Committed));
        assert_eq!(pi.settle(), Case::Normal);
    });
}

#[test]
fn a_commit_of_which_only_the_record_was_written_goes_on_in_this_boot_and_is_proved_again_in_the_next() {
    both(|mut pi, _| {
        for again in [false, true] {
            let counter = if again { 3 } else { 2 };
            pi.install(&candidate(counter)).unwrap();
            pi.restart_into_trial();
            let BootState::Trial(trial) = &pi.standing else { panic!() };
            let step = slots::commit(pi.state(), trial, &pi.seen()).unwrap();
            pi.ledger.perform(&Step { after: vec![], ..step }).unwrap();
            if again {
                assert_eq!(pi.settle(), Case::CommitCut);
            } else {
                assert_eq!(pi.boot(ResetCause::PowerOn), Case::RolledBack);
                assert_eq!(pi.state().update.as_ref().unwrap().armings, 2);
                assert_eq!(pi.restart_into_trial(), Case::TrialBegins);
                pi.commit().unwrap();
            }
            assert_eq!((pi.state().counter_floor, pi.settle()), (counter, Case::Normal));
        }
    });
}

#[test]
fn only_the_running_trial_is_committed() {
    both(|mut pi, chain| {
        pi.install(&candidate(2)).unwrap();
        pi.restart_into_trial();
        let BootState::Trial(trial) = &pi.standing else { panic!() };
        let seen = pi.seen();
        let changes: [fn(&mut Evidence); 10] = [
            |seen| seen.trial = Some(false),
            |seen| seen.trial = None,
            |seen| seen.booted = Some(Slot::A),
            |seen| seen.booted = None,
            |seen| seen.root = Some(Slot::A),
            |seen| seen.root = None,
            |seen| seen.default = None,
            |seen| seen.default = Some(Slot::B),
            |seen| seen.armed = None,
            |seen| seen.boot_id = Some("another".into()),
        ];
        for change in changes {
            let mut other = seen.clone();
            change(&mut other);
            let refused = slots::commit(pi.state(), trial, &other).unwrap_err();
            assert_eq!(refused.code, ErrorCode::FailedPrecondition, "{chain:?} {other:?}");
        }
        let committed = slots::committed(pi.state(), &seen, NOW);
        assert_eq!(committed.unwrap_err().code, ErrorCode::FailedPrecondition);
        let _ = slots::commit(pi.state(), trial, &seen).expect("unchanged");
        let condemned = slots::condemn(pi.state(), trial, failed("sick", false, None)).unwrap().state.unwrap();
        slots::commit(&condemned, trial, &seen).unwrap_err();
    });
}

#[test]
fn a_committed_slot_that_rots_is_walked_around_and_the_default_follows_once_the_other_is_healthy() {
    both(|mut pi, chain| {
        pi.install(&candidate(2)).unwrap();
        pi.restart_into_trial();
        pi.commit().unwrap();
        let boot = pi.disk.open(Area::Boot(Slot::B), Access::Shared).unwrap();
        boot.write(0, &[0; 4096]).unwrap();
        assert_eq!((pi.boot(ResetCause::PowerOn), pi.running()), (Case::Walked, Slot::A), "{chain:?}");
        assert_eq!(pi.standing, BootState::Walked);
        if chain == SimulatedBootChain::Tryboot {
            // U-Boot has struck the dead slot off by itself.
            let refused = pi.install(&candidate(3)).unwrap_err();
            assert!(refused.message.contains("the boot chain would start another one"), "{refused}");
        }
        pi.healthy().unwrap();
        assert_eq!(pi.settle(), Case::Normal);
        assert_eq!((pi.seen().default, pi.state().slots.b.state), (Some(Slot::A), SlotState::Bad));
        pi.install(&candidate(3)).expect("the dead slot is written anew");
    });
}

#[test]
fn rule_10_uboots_state_lost_in_both_copies_is_rebuilt_from_the_slot_that_runs() {
    let mut pi = Machine::new(SimulatedBootChain::Uboot);
    pi.install(&candidate(2)).unwrap();
    pi.restart_into_trial();
    pi.commit().unwrap();
    // The target of the next one is A, and it is zeroed: "default A" is no answer.
    let step = pi.begin(&candidate(3), FREE);
    pi.does(step).unwrap();
    let zero = |pi: &Machine, area| pi.disk.open(area, Access::Shared).unwrap().write(0, &[0; 512]).unwrap();
    zero(&pi, Area::Boot(Slot::A));
    zero(&pi, Area::UbootCopy(0));
    zero(&pi, Area::UbootCopy(1));
    // U-Boot's own writes name A until the agent has put that right.
    assert_eq!(pi.boot(ResetCause::PowerOn), Case::Interrupted);
    assert_eq!((pi.running(), &pi.standing), (Slot::B, &BootState::Interrupted));
    pi.healthy().unwrap();
    assert_eq!(pi.seen().default, Some(Slot::B));
    for area in [Area::UbootCopy(0), Area::UbootCopy(1)] {
        zero(&pi, area);
    }
    assert_eq!(pi.settle(), Case::InterruptedChainLost, "lost while it runs");
    assert_eq!(pi.seen().default, Some(Slot::B));
}

#[test]
fn the_boot_chain_forgot_and_started_what_was_only_armed() {
    let mut pi = Machine::new(SimulatedBootChain::Uboot);
    pi.install(&candidate(2)).unwrap();
    pi.restart_into_trial();
    pi.commit().unwrap();
    pi.healthy().unwrap();
    // Slot A is whole and armed when U-Boot forgets: it starts A, without a count that says "trial".
    pi.install(&candidate(3)).unwrap();
    for area in [Area::UbootCopy(0), Area::UbootCopy(1)] {
        pi.disk.open(area, Access::Shared).unwrap().write(0, &[0; 512]).unwrap();
    }
    assert_eq!((pi.boot(ResetCause::PowerOn), pi.running()), (Case::TargetByDefault, Slot::A));
    assert!(matches!(pi.standing, BootState::Restart(_)));
    assert_eq!(pi.state().counter_floor, 2, "nothing was committed");
    pi.boot(ResetCause::Watchdog);
    assert_eq!((pi.running(), &pi.standing), (Slot::B, &BootState::Armed));
    assert_eq!(pi.restart_into_trial(), Case::TrialBegins);
    pi.commit().unwrap();
}

#[test]
fn both_copies_of_the_record_lost_in_a_trial_commit_nothing() {
    let mut pi = Machine::new(SimulatedBootChain::Tryboot);
    pi.install(&candidate(2)).unwrap();
    pi.restart_into_trial();
    let size = pi.disk.open(Area::AgentState, Access::Read).unwrap().size();
    pi.disk.open(Area::AgentState, Access::Shared).unwrap().write(0, &vec![0xff; size as usize]).unwrap();
    assert_eq!(pi.settle(), Case::Unrecorded);
    assert_eq!(pi.ledger.faults().len(), 2);
    pi.healthy().unwrap_err();
    assert_eq!(pi.seen().default, Some(Slot::A));
    assert_eq!((pi.boot(ResetCause::Watchdog), pi.running()), (Case::FirstStart, Slot::A));
    // A person may say otherwise.
    let step = slots::healthy(pi.state(), &pi.seen(), &BootState::Unrecorded, true, NOW);
    pi.does(step).unwrap();
}

#[test]
fn rollback_is_a_trial_of_the_other_version_and_blocks_the_one_it_leaves() {
    both(|mut pi, _| {
        pi.install(&candidate(2)).unwrap();
        pi.restart_into_trial();
        pi.commit().unwrap();
        let step = slots::roll_back(pi.state(), &pi.seen(), "a person asked", NOW);
        pi.does(step).unwrap();
        assert_eq!((pi.restart_into_trial(), pi.running()), (Case::TrialBegins, Slot::A));
        pi.commit().unwrap();
        assert_eq!(pi.phase(), (Phase::Committed, "a person asked".into()));
        assert_eq!(pi.state().counter_floor, 2, "the floor never falls");
        assert!(pi.startable(Slot::B), "it may be gone back to");
        // A person's rollback is no failure: the version is not taken by itself, and a person may have it again.
        let [left] = &pi.state().blocked[..] else { panic!("{:?}", pi.state().blocked) };
        assert!(left.by_person && left.reason == "rolled back: a person asked", "{left:?}");
        pi.install(&candidate(2)).expect("forward again");
        pi.restart_into_trial();
        pi.commit().unwrap();
        assert_eq!(pi.state().blocked, [], "it is what runs");
    });
}

#[test]
fn a_trial_knows_what_its_release_changed_and_the_way_back_is_the_reverse() {
    let renamed = |from: &str, to: &str| Renamed { from: from.into(), to: to.into() };
    let changes = ServiceChanges {
        drops: vec!["old.service".into()],
        renames: vec![renamed("a.service", "b.service")],
        adds: vec!["new.service".into()],
    };
    let back = ServiceChanges {
        drops: vec!["new.service".into()],
        renames: vec![renamed("b.service", "a.service")],
        adds: Vec::new(),
    };
    both(|mut pi, _| {
        pi.install(&Candidate { services: changes.clone(), ..candidate(2) }).unwrap();
        let services = |pi: &Machine| pi.state().update.as_ref().unwrap().services.clone();
        assert_eq!((pi.restart_into_trial(), services(&pi)), (Case::TrialBegins, changes.clone()));
        pi.commit().unwrap();
        // Back, and forward again.
        for expected in [&back, &changes] {
            let step = slots::roll_back(pi.state(), &pi.seen(), "a person asked", NOW);
            pi.does(step).unwrap();
            assert_eq!((pi.restart_into_trial(), &services(&pi)), (Case::TrialBegins, expected));
            pi.commit().unwrap();
        }
        // The next release says nothing.
        pi.install(&candidate(3)).unwrap();
        assert_eq!(services(&pi), ServiceChanges::default());
    });
}

#[test]
fn a_rollback_that_nobody_asked_for_blocks_the_version_it_leaves_and_so_does_one_that_fails_again() {
    both(|mut pi, _| {
        pi.install(&candidate(2)).unwrap();
        pi.restart_into_trial();
        pi.commit().unwrap();
        let mut step = slots::roll_back(pi.state(), &pi.seen(), "update.dead_man_hours", NOW).unwrap();
        step.state.as_mut().unwrap().update.as_mut().unwrap().by_itself = true;
        pi.does(Ok(step)).unwrap();
        pi.restart_into_trial();
        pi.commit().unwrap();
        assert!(pi.install(&candidate(2)).unwrap_err().message.contains("blocked: rolled back"));
        // A person ends the next one's trial, lets it in again, and then it fails by itself.
        for by_person in [true, false] {
            pi.install(&candidate(3)).unwrap();
            pi.restart_into_trial();
            let BootState::Trial(trial) = &pi.standing else { panic!() };
            let step = slots::condemn(pi.state(), trial, failed("no good", by_person, None));
            pi.does(step).unwrap();
            pi.boot(ResetCause::Watchdog);
            if !by_person {
                let step = slots::judge_old(pi.state(), &pi.seen(), OldSystem::Online, NOW);
                pi.does(step).unwrap();
            }
            pi.healthy().unwrap();
            assert_eq!(pi.state().blocked.last().unwrap().by_person, by_person);
        }
        assert!(pi.install(&candidate(3)).unwrap_err().message.contains("blocked: no good"));
    });
}

#[test]
fn no_floor_rises_before_the_commit_whatever_becomes_of_the_release() {
    both(|mut pi, _| {
        let far = Candidate { created: 4_000_000_000, revoke_below: 2, ..candidate(9) };
        let low = |pi: &Machine, when: &str| {
            let state = pi.state();
            let floors = (state.committed_time, state.time_floor, state.counter_floor, state.revoke_below);
            assert_eq!(floors, (0, 0, 0, 0), "{when}");
        };
        let step = pi.begin(&far, FREE);
        pi.does(step).unwrap();
        low(&pi, "writing");
        pi.boot(ResetCause::PowerOn);
        low(&pi, "cut while it was written");
        pi.install(&far).unwrap();
        low(&pi, "armed");
        pi.restart_into_trial();
        low(&pi, "on trial");
        pi.condemn("sick");
        pi.boot(ResetCause::Watchdog);
        let step = slots::judge_old(pi.state(), &pi.seen(), OldSystem::Online, NOW);
        pi.does(step).unwrap();
        low(&pi, "given up");
        pi.healthy().unwrap();
        pi.install(&candidate(2)).expect("an ordinary one");
        pi.restart_into_trial();
        pi.commit().unwrap();
        assert_eq!((pi.state().committed_time, pi.state().counter_floor), (1_700_000_002, 2));
    });
}

#[test]
fn a_release_that_was_installed_without_a_clock_raises_the_floor_no_further_than_the_clock_of_its_commit() {
    both(|mut pi, _| {
        pi.install(&Candidate { created: 2_000_000_000, ..candidate(2) }).unwrap();
        pi.restart_into_trial();
        for _ in 0..2 {
            pi.does(Ok(slots::clock::not_after(pi.state(), 1_800_000_000))).unwrap();
        }
        pi.commit().unwrap();
        assert_eq!(pi.state().committed_time, 1_800_000_000);
    });
}

#[test]
fn rule_12_floors_and_counters() {
    both(|mut pi, _| {
        pi.install(&candidate(5)).unwrap();
        pi.restart_into_trial();
        pi.commit().unwrap();
        let older = pi.install(&candidate(4)).unwrap_err();
        assert_eq!((older.code, &older.details["counter_floor"]), (ErrorCode::FailedPrecondition, &5.into()));
        let forged = Candidate { manifest: candidate(9).manifest, ..candidate(5) };
        assert_eq!(pi.install(&forged).unwrap_err().code, ErrorCode::VerificationFailed);
        // The running image's own counter holds when the record is lost.
        let seen = pi.seen();
        let (older, same) = (candidate(4), candidate(5));
        let ask = |candidate| AdmissionInput { running: Some(5), ..asked(candidate, &seen, FREE) };
        let admitted = slots::admit(&Default::default(), &ask(&older));
        assert_eq!(admitted.unwrap_err().details["counter_floor"], 5);
        slots::admit(pi.state(), &ask(&same)).expect("the same one again");
    });
}

#[test]
fn rule_12_what_is_revoked_cannot_be_started_after_the_commit() {
    both(|mut pi, _| {
        let revoking = Candidate { revoke_below: 2, ..candidate(2) };
        pi.install(&revoking).unwrap();
        pi.restart_into_trial();
        assert!(pi.startable(Slot::A), "not before the commit");
        pi.commit().unwrap();
        assert!(!pi.startable(Slot::A));
        assert_eq!(pi.state().revoke_below, 2);
        let refused = slots::roll_back(pi.state(), &pi.seen(), "a person", NOW).unwrap_err();
        assert!(refused.message.contains("revoked"), "{refused}");
        assert_eq!((pi.boot(ResetCause::PowerOn), pi.running()), (Case::Normal, Slot::B));
    });
}

#[test]
fn rule_16_limits_refuse_and_going_on_is_free() {
    both(|mut pi, _| {
        let one = UpdateLimits { installs_a_day: 1, reboots_an_hour: 1 };
        let begin = |pi: &Machine, counter| pi.begin(&candidate(counter), one);
        let step = begin(&pi, 2);
        pi.does(step).unwrap();
        let step = begin(&pi, 2);
        pi.does(step).expect("it goes on");
        assert_eq!(begin(&pi, 3).unwrap_err().code, ErrorCode::ResourceExhausted);
        let restart = |pi: &Machine| slots::restarting(pi.state(), &pi.seen(), false, "", one, NOW);
        let step = restart(&pi);
        pi.does(step).unwrap();
        assert_eq!(restart(&pi).unwrap_err().code, ErrorCode::ResourceExhausted);
    });
}

/// What the initramfs does on each boot: the first byte that is zero.
fn boots(pi: &Machine, slot: Slot) {
    let device = pi.disk.open(Area::AgentState, Access::Shared).unwrap();
    let mut sector = [0; counter::SIZE];
    device.read(Counter::UnhealthyBoots.at(), &mut sector).unwrap();
    let free = sector.iter().position(|byte| *byte == 0).unwrap();
    device.write(Counter::UnhealthyBoots.at() + free as u64, slot.name().as_bytes()).unwrap();
}

#[test]
fn rule_2_the_initramfs_count_is_cleared_when_a_boot_is_healthy() {
    both(|mut pi, _| {
        for _ in 0..2 {
            boots(&pi, Slot::A);
        }
        boots(&pi, Slot::B);
        let counted = Counter::UnhealthyBoots.read(&pi.disk).unwrap();
        assert_eq!((counted.a, counted.b), (2, 1));
        pi.settle();
        assert_eq!(pi.ledger.faults(), ["slot A was started 2 times and not found healthy"], "once is this boot");
        pi.healthy().unwrap();
        assert_eq!(Counter::UnhealthyBoots.read(&pi.disk).unwrap(), Counted::default());
        pi.disk.take_events();
        Counter::UnhealthyBoots.clear(&pi.disk).unwrap();
        assert_eq!(pi.disk.take_events(), [], "a healthy machine writes nothing");
    });
}

#[test]
fn a_healthy_boot_in_order_writes_nothing() {
    let mut pi = Machine::new(SimulatedBootChain::Tryboot);
    pi.boot(ResetCause::PowerOn);
    pi.healthy().unwrap();
    pi.disk.take_events();
    pi.boot(ResetCause::PowerOn);
    pi.healthy().unwrap();
    assert_eq!(pi.disk.take_events(), []);
}

#[test]
fn an_install_that_fails_leaves_nothing_pending_and_nothing_blocked() {
    both(|mut pi, _| {
        let step = pi.begin(&candidate(2), FREE);
        pi.does(step).unwrap();
        pi.does(slots::failed(pi.state(), Slot::B, "block 7 reads back differently", NOW)).unwrap();
        assert_eq!(pi.phase(), (Phase::Failed, "block 7 reads back differently".into()));
        assert!(pi.state().update.is_none() && pi.state().blocked.is_empty() && !pi.startable(Slot::B));
        for step in [slots::written(pi.state()), slots::verified(pi.state()), slots::arm(pi.state(), &pi.seen())] {
            assert_eq!(step.unwrap_err().code, ErrorCode::FailedPrecondition);
        }
        pi.install(&candidate(2)).expect("once more");
    });
}
