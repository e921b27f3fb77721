//! docs/update-proofs.md names what proves each step and rule of an update: all of it exists. And the rules that only files can hold.

use super::install::{Pi, bundle};
use ::update::{
    Slot,
    boot::ResetCause,
    disk::{Access, Area, Disk},
    simulated::SimulatedBootChain,
    slots::Ledger,
};
use std::{fs, path::Path, sync::Arc};

fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The first cell of each row of its tables, with the rest of the line.
fn rows() -> Vec<(String, String)> {
    let lines = file("docs/update-proofs.md");
    let cells = lines.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    cells.map(|(first, rest)| (first.to_owned(), rest.to_owned())).collect()
}

#[test]
fn every_step_and_rule_has_a_row() {
    let numbers: Vec<u32> = rows().iter().filter_map(|(first, _)| first.parse().ok()).collect();
    assert_eq!(numbers, (1..=11).chain(1..=18).collect::<Vec<_>>());
}

#[test]
fn every_proof_exists() {
    for (first, rest) in rows().iter().filter(|(first, _)| first.parse::<u32>().is_ok() || first == "install") {
        let mut proofs = 0;
        for (place, word) in rest.split('`').enumerate().filter(|(place, _)| place % 2 == 1) {
            if let Some((at, function)) = word.split_once("::") {
                let source = file(&format!("tests/it/update/{at}"));
                assert!(source.contains(&format!("fn {function}()")), "{first}: {word} is no test");
                proofs += 1;
            } else if rest.split('`').nth(place - 1).is_some_and(|before| before.ends_with("scenario ")) {
                file(&format!("ci/qemu.d/scenarios/{}.py", word.replace('-', "_")));
                proofs += 1;
            }
        }
        assert!(proofs > 0, "nothing proves {first}");
    }
}

/// The lines of a unit that set something.
fn unit(name: &str) -> Vec<String> {
    let text = file(&format!("dist/systemd/{name}"));
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn rule_4_the_trials_deadline_needs_nothing_of_the_rest() {
    for name in ["raspi-mcp-trial.timer", "raspi-mcp-trial.service"] {
        let lines = unit(name);
        assert!(lines.contains(&"DefaultDependencies=no".to_owned()), "{name}");
        for order in ["After=", "Requires=", "Wants=", "BindsTo="] {
            assert!(!lines.iter().any(|line| line.starts_with(order)), "{name}: {order} may keep it from starting");
        }
    }
    // Emergency and rescue mode leave it running, and it comes after the agent's own deadline at its longest.
    let timer = unit("raspi-mcp-trial.timer");
    assert!(timer.contains(&"IgnoreOnIsolate=yes".to_owned()) && timer.contains(&"OnStartupSec=20min".to_owned()));
    assert!(unit("raspi-mcp-trial.service").contains(&"FailureAction=reboot-force".to_owned()));
}

#[test]
fn rule_8_the_record_outlives_everything_but_its_partition() {
    let pi = Pi::new(SimulatedBootChain::Uboot);
    pi.start(ResetCause::PowerOn);
    pi.install(&bundle("5.0.0", 5, 5)).0.unwrap();
    let settled = pi.restart(true);
    pi.commit(&settled);
    let state = pi.state();
    assert_eq!(state.counter_floor, 5);
    // A card's data partition is no area that the engine knows. What else there is may be lost as well.
    let others = [Area::Config, Area::Boot(Slot::A), Area::Root(Slot::A), Area::UbootCopy(0), Area::UbootCopy(1)];
    for area in others {
        wipe(&pi, area);
    }
    let read = || Ledger::open(Arc::new(pi.disk.clone()), pi.flow.clone()).unwrap().state().clone();
    assert_eq!(read(), state);
    wipe(&pi, Area::AgentState);
    assert_ne!(read(), state, "it is nowhere else");
}

fn wipe(pi: &Pi, area: Area) {
    let device = pi.disk.open(area, Access::Shared).unwrap();
    device.write(0, &vec![0; device.size() as usize]).unwrap();
    device.flush().unwrap();
}

#[test]
fn rule_15_the_mailbox_is_the_agents_alone() {
    let allows = |name: &str| {
        let lines = unit(name);
        assert!(lines.contains(&"DevicePolicy=closed".to_owned()), "{name}");
        lines.iter().any(|line| line.starts_with("DeviceAllow=/dev/vcio"))
    };
    assert!(allows("raspi-mcp-agent.service") && !allows("raspi-mcp.service"));
}

#[test]
fn rule_17_what_a_hand_on_the_card_can_do_is_said() {
    let text = file("SECURITY.md");
    let thief = text.lines().find(|line| line.starts_with("| A thief with the card")).expect("that attacker");
    for word in ["no secure boot", "older versions", "revoke"] {
        assert!(thief.contains(word), "{word}: {thief}");
    }
}
