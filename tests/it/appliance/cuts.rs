//! The power fails at every write of the card while a machine takes its file: the file is never erased before it is recorded, and nothing of it
//! is ever applied by half.

use super::{Content, Machine, card, has, token, torn};
use crate::update::powercut::cut::{Cutter, Dice};
use appliance::Identity;
use contract::meta::Role;
use update::slots::StateStore;

const FILE: &str = "raspi-mcp.toml";
const MANY: usize = 60;

/// More than one sector, with its secret in each.
fn file(with_token: bool) -> String {
    let padding = "# a remark of no use whatever, to fill the sector it is in: hunter2hunter2\n".repeat(12);
    let token = if with_token { token("laptop", Role::Admin).1 } else { String::new() };
    format!("name = \"porch\"\n[wifi]\nssid = \"home\"\npassphrase = \"hunter2hunter2\"\n{padding}{token}")
}

/// Whether all of the file is recorded.
fn recorded(content: &Content, claimed: bool) -> bool {
    let state = StateStore::open(&Machine::of(content.clone()).card).unwrap().state;
    let (identity, _) = Identity::of(&state);
    let all =
        identity.name.as_deref() == Some("porch") && identity.wifi.as_ref().is_some_and(|wifi| wifi.ssid == "home");
    let none = identity.name.is_none() && identity.wifi.is_none() && !identity.claimed;
    assert!(all && identity.claimed == claimed || none, "half of it is recorded: {identity:?}");
    all
}

fn cut_everywhere(start: &Content, text: &str, claimed: bool, seed: u64, depth: usize, states: &mut usize) {
    let machine = Machine::of(start.clone());
    machine.tries_to_start().unwrap();
    let (mut cutter, mut dice) = (Cutter::new(start.clone()), Dice(seed));
    for event in machine.card.take_events() {
        cutter.apply(&event);
        for fate in cutter.fates(if depth == 0 { MANY } else { 4 }, &mut dice) {
            let content = cutter.state(&fate, &mut dice).make();
            *states += 1;
            if !has(&content, text) {
                // A cut while the record is written tears one copy itself: then the other one has it.
                let whole = StateStore::open(&Machine::of(content.clone()).card).unwrap().faults.is_empty();
                let lost = if whole { vec![torn(&content, 1), torn(&content, 2)] } else { vec![content.clone()] };
                assert!(
                    lost.iter().all(|content| recorded(content, claimed)),
                    "the file is damaged, and a copy that is lost with it loses what it said"
                );
            }
            if depth == 0 && dice.below(24) == 0 {
                cut_everywhere(&content, text, claimed, seed ^ *states as u64, 1, states);
            }
            let after = Machine::of(content);
            let done = after.starts();
            assert!(recorded(&after.card.content(), claimed), "{done:?}");
            assert!(!after.has_on_partition_1("hunter2"), "{done:?}");
            assert_eq!((done.claimed, after.claim().is_some()), (claimed, !claimed));
            assert_eq!(after.identity().erasing, None);
            after.card.take_events();
            assert_eq!(after.starts().faults.len(), 0);
            assert_eq!(after.card.take_events(), [], "a third start has nothing left to do");
        }
    }
}

#[test]
fn a_file_is_recorded_before_it_is_erased_and_whole_wherever_the_power_fails() {
    for with_token in [true, false] {
        let text = file(with_token);
        let mut states = 0;
        cut_everywhere(&card(&[(FILE, text.as_bytes())]), &text, with_token, 0x5eed_0001, 0, &mut states);
        println!("with a token: {with_token}; {states} states of the card");
        assert!(states > 100, "{states}");
    }
}

#[test]
fn a_first_start_that_is_cut_ends_with_one_key() {
    let start = card(&[]);
    let machine = Machine::of(start.clone());
    machine.starts();
    let (mut cutter, mut dice) = (Cutter::new(start), Dice(0x5eed_0002));
    for event in machine.card.take_events() {
        cutter.apply(&event);
        for fate in cutter.fates(MANY, &mut dice) {
            let after = Machine::of(cutter.state(&fate, &mut dice).make());
            assert!(!after.starts().claimed);
            let identity = after.identity();
            assert!(identity.has_key());
            after.starts();
            assert_eq!(after.identity(), identity);
        }
    }
}
