//! Two copies of the record: either of them is enough for whose machine it is, whatever was lost and cut before.

use super::{Content, Machine, QUARTER, card, has, owner, token, torn};
use crate::{
    agent::Pi,
    update::powercut::{
        card::Event,
        cut::{Cutter, Dice},
    },
};
use agent::operations as op;
use agent::{
    Agent, AgentLink, AgentSettings, BootableCard, CardPort, Platform,
    machine::SimulatedMachine,
    operations::claim::{ClaimRequest, OWNER, ShownToken},
    system_clock,
};
use appliance::Identity;
use contract::meta::Role;
use std::{sync::Arc, time::Duration};
use update::{disk::Area, slots::StateStore};

const BOTH: [[u64; 2]; 2] = [[1, 2], [2, 1]];
const MANY: usize = 16;

fn tears(machine: &Machine, copy: u64) {
    machine.write(Area::AgentState, copy * QUARTER + 100, &[0x5a; 3000]);
}

/// What it is after a start, whichever of the copies is lost.
fn is_in_either(content: &Content, expected: &Identity) {
    for copy in [1, 2] {
        let machine = Machine::of(torn(content, copy));
        let done = machine.starts();
        assert!(done.faults.iter().any(|fault| fault.contains("not whole")), "{done:?}");
        assert_eq!(machine.identity(), *expected, "without copy {copy}: {done:?}");
        assert!(!machine.state().lost);
    }
}

/// Machines whose next start writes the record, in every way there is.
fn machines() -> Vec<(&'static str, Machine)> {
    let told = |text: &str| Machine::of(card(&[("raspi-mcp.toml", text.as_bytes())]));
    let mut all = vec![
        ("told nothing", Machine::with(&[])),
        ("told a name", told("name = \"porch\"\n")),
        ("told its owner", told(&token("laptop", Role::Admin).1)),
    ];
    let claimed = Machine::with(&[]);
    claimed.starts();
    let mut identity = claimed.identity();
    identity.belongs_to(owner());
    let mut store = StateStore::open(&claimed.card).unwrap().store;
    store.save(&claimed.card, &identity.in_state(&claimed.state())).unwrap();
    all.push(("claimed in one copy by an older version", claimed));
    all
}

#[test]
fn one_copy_after_the_other_is_torn_and_it_is_the_same_machine_of_the_same_owner() {
    for order in BOTH {
        for (what, machine) in machines() {
            machine.starts();
            let before = machine.identity();
            for copy in order {
                tears(&machine, copy);
                machine.starts();
                assert_eq!(machine.identity(), before, "{what}: copy {copy} of {order:?}");
                assert_eq!(machine.standing().fingerprint, before.fingerprint().map(|is| is.to_string()));
            }
            assert_eq!(machine.starts().faults, [""; 0], "{what}: both are whole again");
        }
    }
}

#[test]
fn after_any_start_either_copy_is_enough_and_nothing_more_is_written() {
    for (what, machine) in machines() {
        machine.starts();
        is_in_either(&machine.card.content(), &machine.identity());
        machine.card.take_events();
        machine.starts();
        assert_eq!(machine.card.take_events(), [], "{what}: both are whole and say the same");
    }
}

#[test]
fn the_copy_that_is_whole_is_not_written_wherever_the_power_fails() {
    let (mut dice, mut states) = (Dice(0x5eed_0004), 0);
    for (what, machine) in machines() {
        machine.starts();
        let before = machine.identity();
        for copy in [1, 2] {
            let start = torn(&machine.card.content(), copy);
            let damaged = Machine::of(start.clone());
            damaged.starts();
            let events = damaged.card.take_events();
            let there = |event: &Event| match event {
                Event::Write { area, at, .. } => (*area, *at) == (Area::AgentState, copy * QUARTER),
                Event::Flush(area) => *area == Area::AgentState,
            };
            assert!(events.len() == 2 && events.iter().all(there), "{what}: one write, to copy {copy}");
            let mut cutter = Cutter::new(start);
            for event in events {
                cutter.apply(&event);
                for fate in cutter.fates(MANY, &mut dice) {
                    let after = Machine::of(cutter.state(&fate, &mut dice).make());
                    after.starts();
                    assert_eq!(after.identity(), before, "{what}");
                    if dice.below(4) == 0 {
                        is_in_either(&after.card.content(), &before);
                    }
                    states += 1;
                }
            }
        }
    }
    assert!(states > 80, "{states}");
}

/// A card that takes no write starts its machine all the same, and says what is wrong.
#[test]
fn a_copy_that_cannot_be_written_again_is_told_and_keeps_nothing_from_starting() {
    let machine = Machine::with(&[]);
    machine.starts();
    let before = machine.identity();
    tears(&machine, 1);
    machine.card.fail_after(0);
    let done = machine.starts();
    assert!(done.faults.iter().any(|fault| fault.contains("in one copy")), "{done:?}");
    assert_eq!(machine.standing().faults, done.faults);
    assert_eq!(machine.standing().fingerprint, before.fingerprint().map(|is| is.to_string()));
}

#[test]
fn a_reset_takes_the_identity_from_both_copies_before_its_file_is_erased() {
    let machine = Machine::of(card(&[("raspi-mcp.toml", token("laptop", Role::Admin).1.as_bytes())]));
    machine.starts();
    let before = machine.identity();
    machine.put(&[("factory-reset", b"reset\n")]);
    let start = machine.card.content();
    machine.card.take_events();
    assert!(machine.starts().restart);
    let (mut cutter, mut dice, mut erased) = (Cutter::new(start), Dice(0x5eed_0005), 0);
    for event in machine.card.take_events() {
        cutter.apply(&event);
        for fate in cutter.fates(MANY, &mut dice) {
            let content = cutter.state(&fate, &mut dice).make();
            // While the file is there, all of it is done again.
            for copy in [1, 2].into_iter().filter(|_| !has(&content, "reset\n")) {
                let after = Machine::of(torn(&content, copy));
                let done = after.starts();
                assert!(!done.claimed, "the owner is back: {done:?}");
                assert_ne!(after.identity().fingerprint(), before.fingerprint());
                erased += 1;
            }
        }
    }
    assert!(erased > 2, "{erased}");
}

/// The agent beside a machine that `prepare` has started; its card is the machine's.
fn agent(machine: &Machine) -> AgentLink {
    let home = machine.home.path();
    let simulated = BootableCard::simulated(&home.join("card")).unwrap();
    let update =
        CardPort { card: Ok(BootableCard { disk: Arc::new(machine.card.clone()), ..simulated }), ..CardPort::none() };
    let settings = AgentSettings { identity: machine.folder(), ..Pi::settings_in(home) };
    let boot_clock = Arc::new(|| Duration::from_secs(30));
    let platform =
        Platform { update, boot_clock, ..Platform::new(system_clock(), Arc::new(SimulatedMachine::new("boot"))) };
    AgentLink::InProcess(Agent::start(settings, platform).unwrap())
}

/// The token for the code, and the machine's word that whoever shows it is the owner.
async fn offered(machine: &Machine, agent: &AgentLink) -> ShownToken {
    let from = "192.0.2.9".to_owned();
    let code = machine.claim().unwrap().code.to_string();
    let token =
        agent.call::<op::claim::Claim>(ClaimRequest { code, from: from.clone(), approver: None }).await.unwrap().token;
    ShownToken { token, from }
}

#[tokio::test]
async fn a_machine_that_was_claimed_by_its_code_is_its_owners_whichever_copy_is_lost_at_once() {
    let machine = Machine::with(&[]);
    machine.starts();
    let agent = agent(&machine);
    let (shown, key) = (offered(&machine, &agent).await, machine.identity().fingerprint());
    let start = machine.card.content();
    machine.card.take_events();
    agent.call::<op::claim::ConfirmClaim>(shown.clone()).await.unwrap();
    let (content, claimed) = (machine.card.content(), machine.identity());
    assert!(claimed.claimed && claimed.tokens.len() == 1 && claimed.tokens[0].name == OWNER);
    is_in_either(&content, &claimed);
    // And wherever the power fails on the way there: it is the same machine, the owner's or still nobody's, in both copies.
    let events = machine.card.take_events();
    let (mut cutter, mut dice, mut owned) = (Cutter::new(start), Dice(0x5eed_0006), [0, 0]);
    for event in &events {
        cutter.apply(event);
        for fate in cutter.fates(MANY, &mut dice) {
            let after = Machine::of(cutter.state(&fate, &mut dice).make());
            let done = after.starts();
            let identity = after.identity();
            assert_eq!(identity.fingerprint(), key, "{done:?}");
            assert!(identity == claimed || !identity.claimed && identity.tokens.is_empty(), "{done:?}");
            is_in_either(&after.card.content(), &identity);
            owned[usize::from(identity.claimed)] += 1;
        }
    }
    assert!(owned.iter().all(|count| *count > 5), "{owned:?}");
    // The answer was lost, and asked for again: nothing is left to be written.
    agent.call::<op::claim::ConfirmClaim>(shown).await.unwrap();
    assert_eq!(machine.card.take_events(), []);
}

#[tokio::test]
async fn an_owner_in_one_copy_is_told_so_until_the_other_one_takes_it() {
    let machine = Machine::with(&[]);
    machine.starts();
    let agent = agent(&machine);
    let shown = offered(&machine, &agent).await;
    machine.card.fail_after(1);
    let refused = agent.call::<op::claim::ConfirmClaim>(shown.clone()).await.unwrap_err();
    assert!(refused.message.contains("in one copy"), "{refused}");
    assert!(!machine.standing().claimed, "nothing is said yet");
    machine.card.heals();
    // Nobody else gets in between.
    let other = ShownToken { token: "rmcp_another".into(), ..shown.clone() };
    assert!(agent.call::<op::claim::ConfirmClaim>(other).await.is_err());
    agent.call::<op::claim::ConfirmClaim>(shown).await.unwrap();
    assert!(machine.standing().claimed);
    is_in_either(&machine.card.content(), &machine.identity());
}
