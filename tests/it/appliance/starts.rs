//! Starts of a machine that is told nothing: a key, a claim, and a record that may be torn.

use super::{Machine, QUARTER, WINDOW, files, mode, owner};
use appliance::{ClaimRefusal, Code, certificate::Fingerprint};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use std::time::Duration;
use update::{disk::Area, slots::StateStore};

const NOW: Duration = Duration::from_secs(30);

#[test]
fn a_card_from_the_factory_gets_a_key_and_an_open_claim() {
    let machine = Machine::with(&[]);
    let done = machine.starts();
    assert_eq!((done.claimed, done.restart, done.faults.as_slice()), (false, false, &[] as &[String]));
    let identity = machine.identity();
    assert!(!identity.claimed && identity.has_key() && identity.tokens.is_empty());

    let folder = machine.home.path().join("run/raspi-mcp-identity");
    let certificate = CertificateDer::from_pem_file(folder.join("tls.crt")).unwrap();
    let standing = machine.standing();
    assert!(!standing.claimed);
    assert_eq!(standing.fingerprint, Some(Fingerprint::of(&certificate).to_string()));
    assert_eq!(mode(&folder), 0o750);
    for name in ["tls.crt", "tls.key", "state.json", "conf.d/10-settings.toml", "conf.d/20-tokens.toml"] {
        assert_eq!(mode(&folder.join(name)), 0o640, "{name}");
    }
    assert_eq!(mode(&folder.join("claim")), 0o600);
    let claim = machine.claim().unwrap();
    assert_eq!((claim.tries_left, claim.until), (5, WINDOW));
    // Of a claim nothing is recorded.
    let record = machine.card.content().remove(&Area::AgentState).unwrap();
    let code = claim.code.to_string();
    assert!(!record.windows(code.len()).any(|bytes| bytes == code.as_bytes()));
}

#[test]
fn every_start_writes_the_same_and_nothing_on_the_card_but_the_code_is_another() {
    let machine = Machine::with(&[]);
    machine.starts();
    let (first, code) = (files(machine.folder().path()), machine.claim().unwrap().code);
    machine.card.take_events();
    machine.starts();
    let second = files(machine.folder().path());
    assert_eq!(machine.card.take_events(), []);
    for (name, text) in &first {
        assert_eq!(second[name] == *text, name != "claim", "{name}");
    }
    assert!(!machine.claim().unwrap().code.is(&code));
}

#[test]
fn a_service_that_starts_again_grants_no_new_tries() {
    let machine = Machine::with(&[]);
    machine.starts();
    let folder = machine.folder();
    let (other, offer) = (Code::mint().unwrap(), owner().sha256);
    for left in (1..=4).rev() {
        assert_eq!(folder.attempt(&other, offer, None, NOW).unwrap(), Err(ClaimRefusal::Wrong { tries_left: left }));
        machine.prepares().unwrap();
        assert_eq!(machine.claim().unwrap().tries_left, left);
    }
    let right = machine.claim().unwrap().code;
    assert_eq!(folder.attempt(&other, offer, None, NOW).unwrap(), Err(ClaimRefusal::Wrong { tries_left: 0 }));
    assert_eq!(folder.attempt(&right, offer, None, NOW).unwrap(), Err(ClaimRefusal::Spent));
    // The next power-on has five again, for another code.
    machine.starts();
    assert_eq!(folder.attempt(&right, offer, None, NOW).unwrap(), Err(ClaimRefusal::Wrong { tries_left: 4 }));
    let right = machine.claim().unwrap().code;
    assert_eq!(folder.attempt(&right, offer, None, WINDOW).unwrap(), Err(ClaimRefusal::Late));
    assert_eq!(folder.attempt(&right, offer, None, WINDOW - Duration::from_millis(1)).unwrap(), Ok(WINDOW));
    // The right one is no try that is lost; its token may be shown for a minute more.
    assert_eq!(machine.claim().unwrap().tries_left, 4);
    assert_eq!(folder.offered(owner().sha256, NOW).unwrap(), Err(ClaimRefusal::Unknown));
    assert_eq!(folder.offered(offer, WINDOW + Duration::from_secs(59)).unwrap(), Ok(None));
    assert_eq!(folder.offered(offer, WINDOW + Duration::from_secs(60)).unwrap(), Err(ClaimRefusal::Late));
}

#[test]
fn a_claim_file_that_is_not_ours_opens_nothing() {
    let machine = Machine::with(&[]);
    machine.starts();
    let (code, offer) = (Code::mint().unwrap(), owner().sha256);
    for bad in ["", "{}", "{\"code\":\"\",\"tries_left\":5,\"until_ms\":900000}", "\0\0\0\0"] {
        machine.puts("run/raspi-mcp-identity/claim", bad);
        assert!(machine.folder().attempt(&code, offer, None, NOW).is_err(), "{bad:?}");
    }
    std::fs::remove_file(machine.folder().path().join("claim")).unwrap();
    assert_eq!(machine.folder().attempt(&code, offer, None, NOW).unwrap(), Err(ClaimRefusal::Closed));
}

#[test]
fn once_it_has_an_owner_there_is_no_claim_and_the_owner_is_known_at_each_start() {
    let machine = Machine::with(&[]);
    machine.starts();
    let mut identity = machine.identity();
    let fingerprint = identity.fingerprint();
    identity.belongs_to(owner());
    // As the agent does: the record first, then what follows from it.
    let mut store = StateStore::open(&machine.card).unwrap().store;
    store.save(&machine.card, &identity.in_state(&machine.state())).unwrap();
    machine.folder().write(&identity, &[]).unwrap();
    assert!(machine.standing().claimed && machine.claim().is_none());
    let before = files(machine.folder().path());
    assert!(machine.starts().claimed);
    assert!(machine.claim().is_none());
    assert_eq!(files(machine.folder().path()), before);
    assert!(before["conf.d/20-tokens.toml"].contains(&owner_hash(&identity)));
    assert_eq!(machine.identity().fingerprint(), fingerprint);
}

fn owner_hash(identity: &appliance::Identity) -> String {
    identity.tokens[0].sha256.hex()
}

#[test]
fn a_record_torn_in_one_copy_loses_nothing() {
    let machine = Machine::with(&[]);
    machine.starts();
    let mut identity = machine.identity();
    identity.belongs_to(owner());
    let state = identity.in_state(&machine.state());
    // Both copies hold it.
    for _ in 0..2 {
        let mut store = StateStore::open(&machine.card).unwrap().store;
        store.save(&machine.card, &state).unwrap();
    }
    for copy in [1_u64, 2] {
        let torn = Machine::of(machine.card.content());
        torn.write(Area::AgentState, copy * QUARTER + 100, &[0x5a; 3000]);
        let done = torn.starts();
        assert!(done.claimed, "copy {copy}");
        assert!(done.faults.iter().any(|fault| fault.contains("not whole")), "{:?}", done.faults);
        assert_eq!(torn.identity(), identity);
    }
}

/// Nothing else can be done: whoever stands before it may claim it, by a key that no client takes for the old one.
#[test]
fn a_record_torn_in_both_copies_makes_it_nobodys_with_another_key_and_it_says_so() {
    let machine = Machine::with(&[]);
    machine.starts();
    let before = machine.identity();
    for copy in [1, 2] {
        machine.write(Area::AgentState, copy * QUARTER, &[0x5a; 4096]);
    }
    let done = machine.starts();
    assert!(!done.claimed);
    assert!(machine.standing().faults.iter().any(|fault| fault.contains("lost")), "{:?}", machine.standing());
    assert_ne!(machine.identity().fingerprint(), before.fingerprint());
    // The agent has yet to learn of it: it decides about slots.
    assert!(machine.state().lost);
    // The next start is an ordinary one.
    let identity = machine.identity();
    machine.starts();
    assert_eq!(machine.identity(), identity);
}

#[test]
fn what_a_newer_version_recorded_is_still_there_after_this_one() {
    let machine = Machine::with(&[]);
    machine.starts();
    let mut state = machine.state();
    let mut json: serde_json::Value = serde_json::from_slice(&state.kept["identity"]).unwrap();
    json["colour"] = "green".into();
    json["wifi"] = serde_json::json!({ "ssid": 7 });
    json["name"] = "porch".into();
    state.kept.insert("identity".into(), json.to_string().into_bytes());
    let mut store = StateStore::open(&machine.card).unwrap().store;
    store.save(&machine.card, &state).unwrap();
    machine.put(&[("raspi-mcp.toml", b"name = \"attic\"\n")]);
    let done = machine.starts();
    assert!(done.faults.iter().any(|fault| fault.contains("wifi")), "{:?}", done.faults);
    let kept: serde_json::Value = serde_json::from_slice(&machine.state().kept["identity"]).unwrap();
    assert_eq!((&kept["colour"], &kept["name"]), (&"green".into(), &"attic".into()));
    assert_eq!(kept["unread_wifi"]["ssid"], 7);

    // Nothing of it can be read: not a machine that anybody may claim.
    state.kept.insert("identity".into(), b"[]".to_vec());
    let mut store = StateStore::open(&machine.card).unwrap().store;
    store.save(&machine.card, &state).unwrap();
    let done = machine.starts();
    assert!(done.claimed && machine.claim().is_none(), "{:?}", done.faults);
}
