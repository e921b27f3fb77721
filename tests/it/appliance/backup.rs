//! A backup beside `raspi-mcp.toml`: a new card becomes the old machine, completely or not at all, wherever the power fails.

use super::{Content, Machine, card, files, token};
use crate::update::{
    PRODUCT,
    powercut::cut::{Cutter, Dice},
};
use appliance::{
    Identity,
    backup::{self, Backup, BackupSource, SavedFiles, collect, sealed},
    generation,
};
use base::error::ToolError;
use contract::meta::Role;
use serde_json::json;
use std::{
    collections::HashMap,
    fs,
    path::Path,
    sync::{LazyLock, Mutex, OnceLock, PoisonError},
};
use update::slots::{StateRecord, StateStore};

const TOML: &str = "raspi-mcp.toml";
const WORDS: &str = "correct horse battery staple";
const SITE: [(&str, &str); 3] = [
    ("50-mine.toml", "[log]\nlevel = \"debug\"\n"),
    ("60-router-office.toml", "[[routeros]]\nname = \"office\"\n"),
    ("routeros/office", "the password of the router"),
];
const APPROVERS: &str = "[{\"name\":\"anna\"}]";

/// As programs open a backup, but the same file and passphrase only once: 600,000 rounds each would take hours here.
pub fn open_once(file: &[u8], passphrase: &str) -> Result<Backup, ToolError> {
    type Opened = HashMap<(Vec<u8>, String), Result<Backup, ToolError>>;
    static OPENED: LazyLock<Mutex<Opened>> = LazyLock::new(Mutex::default);
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    opened.entry((file.to_vec(), passphrase.into())).or_insert_with(|| backup::open(file, passphrase)).clone()
}

/// A machine with an owner, files of its own and an approver.
fn old_machine() -> Machine {
    let lines = token("laptop", Role::Admin).1;
    let text = format!("name = \"porch\"\n[wifi]\nssid = \"home\"\npassphrase = \"hunter2hunter2\"\n{lines}");
    let machine = Machine::of(card(&[(TOML, text.as_bytes())]));
    assert_eq!(machine.starts().faults, [""; 0]);
    let home = machine.home.path();
    for folder in ["etc/raspi-mcp/routeros", "var/lib/raspi-mcp-agent"] {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
    SITE.iter().for_each(|(path, text)| machine.puts(&format!("etc/raspi-mcp/{path}"), text));
    machine.puts("var/lib/raspi-mcp-agent/approvers.json", APPROVERS);
    machine.puts("var/lib/raspi-mcp-agent/device.key", "its key");
    machine.puts("etc/NetworkManager/system-connections/office.nmconnection", "[wifi-security]\npsk=secret9\n");
    machine
}

fn of(machine: &Machine, state: &StateRecord, identity: bool) -> Backup {
    let home = machine.home.path();
    let (site, agent) = (home.join("etc/raspi-mcp"), home.join("var/lib/raspi-mcp-agent"));
    let root = machine.root();
    let source =
        BackupSource { state, root: &root, site: &site, agent: &agent, product: PRODUCT, device: "d1", now_ms: 7 };
    let (backup, left_out) = collect(&source, identity).unwrap();
    assert_eq!(left_out, [""; 0]);
    backup
}

/// The identity of the old machine, and its backup's file.
fn old() -> &'static (Identity, Vec<u8>) {
    static OLD: OnceLock<(Identity, Vec<u8>)> = OnceLock::new();
    OLD.get_or_init(|| {
        let machine = old_machine();
        let mut state = machine.state();
        (state.counter_floor, state.revoke_below) = (12, 5);
        let backup = of(&machine, &state, true);
        // Those of the old machine are in a file of its agent.
        let identity = Identity { approvers: None, ..machine.identity() };
        (identity, sealed::seal(&backup.json().unwrap(), WORDS).unwrap())
    })
}

fn with_words(more: &str) -> String {
    format!("{more}[backup]\npassphrase = \"{WORDS}\"\n")
}

/// Whether it is the old machine, with everything that came with it.
fn is_old(machine: &Machine) {
    let (identity, is) = (&old().0, machine.identity());
    assert_eq!(is, *identity);
    let state = machine.state();
    assert_eq!((generation::of(&state), state.counter_floor, state.revoke_below), (1, 12, 5));
    assert!(!SavedFiles::are_pending(&state));
    let site = files(&machine.home.path().join("etc/raspi-mcp"));
    assert_eq!(site, SITE.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect());
    assert_eq!(machine.reads("var/lib/raspi-mcp-agent/approvers.json").as_deref(), Some(APPROVERS));
    let connection = machine.reads("etc/NetworkManager/system-connections/office.nmconnection");
    assert!(connection.unwrap().contains("psk=secret9"));
    for left in ["RMBACKUP", WORDS] {
        assert!(!machine.has_on_partition_1(left), "{left}");
    }
    assert_eq!(machine.standing().fingerprint, identity.fingerprint().map(|pin| pin.to_string()));
}

#[test]
fn a_new_card_with_the_backup_and_its_passphrase_is_the_old_machine() {
    let machine = Machine::with(&[(TOML, with_words("").as_bytes()), ("raspi-mcp.backup", &old().1)]);
    let done = machine.starts();
    assert_eq!(done.faults, [""; 0]);
    assert!(done.claimed && machine.claim().is_none());
    assert!(done.notes.iter().any(|note| note.contains("restored, with its identity")), "{done:?}");
    is_old(&machine);
    assert_eq!(super::mode(&machine.home.path().join("etc/raspi-mcp/routeros/office")), 0o644);
    machine.card.take_events();
    assert_eq!(machine.starts().notes, [""; 0]);
    assert_eq!(machine.card.take_events(), [], "nothing is left to do");
    is_old(&machine);
}

#[test]
fn what_the_file_says_counts_over_the_backup() {
    let mine = format!("name = \"attic\"\n{}", with_words(""));
    let machine = Machine::with(&[(TOML, mine.as_bytes()), ("raspi-mcp.backup", &old().1)]);
    assert_eq!(machine.starts().faults, [""; 0]);
    let identity = machine.identity();
    assert_eq!((identity.name.as_deref(), identity.fingerprint()), (Some("attic"), old().0.fingerprint()));
}

#[test]
fn without_the_identity_it_is_another_device_of_the_files_owner() {
    let machine = old_machine();
    let backup = of(&machine, &machine.state(), false);
    let json = backup.json().unwrap();
    let text = String::from_utf8(json.clone()).unwrap();
    let identity = machine.identity();
    for secret in [identity.key.as_deref().unwrap(), "its key", &identity.tokens[0].sha256.hex()] {
        let quoted = json!(secret).to_string();
        assert!(!text.contains(quoted.trim_matches('"')), "a part of the identity");
    }
    let file = sealed::seal(&json, WORDS).unwrap();
    let start = |toml: &str| {
        let new = Machine::with(&[(TOML, toml.as_bytes()), ("raspi-mcp.backup", &file)]);
        let done = new.starts();
        (new, done)
    };
    let (new, done) = start(&with_words(""));
    assert!(!done.claimed && done.faults.iter().any(|fault| fault.contains("nobody would own")), "{done:?}");
    assert!(new.has_on_partition_1("RMBACKUP"), "nothing was taken");
    let (new, done) = start(&with_words(&token("tablet", Role::Admin).1));
    assert_eq!((done.claimed, done.faults.len()), (true, 0), "{done:?}");
    let is = new.identity();
    assert_ne!(is.fingerprint(), identity.fingerprint());
    assert_eq!((is.tokens.len(), is.tokens[0].name.as_str(), is.wifi), (1, "tablet", identity.wifi));
    assert_eq!((is.approvers, generation::of(&new.state())), (None, 0));
}

#[test]
fn what_is_wrong_is_said_and_changes_nothing() {
    let (file, words) = (&old().1, with_words(""));
    let mut altered = file.clone();
    altered[100] ^= 1;
    let machine = old_machine();
    let other = Backup { product: "another".into(), ..of(&machine, &machine.state(), true) };
    let other = sealed::seal(&other.json().unwrap(), WORDS).unwrap();
    let wrong = words.replace("staple", "stable");
    type Case<'a> = (&'a [(&'a str, &'a [u8])], &'a str);
    let cases: [Case<'_>; 7] = [
        (&[(TOML, wrong.as_bytes()), ("raspi-mcp.backup", file)], "does not open this backup"),
        (&[(TOML, words.as_bytes()), ("raspi-mcp.backup", &altered)], "does not open this backup"),
        (&[(TOML, words.as_bytes()), ("raspi-mcp.backup", &file[..60])], "no whole backup"),
        (&[(TOML, words.as_bytes()), ("raspi-mcp.backup", &other)], "another"),
        (&[(TOML, words.as_bytes())], "no raspi-mcp.backup beside it"),
        (&[(TOML, b"name = \"attic\"\n"), ("raspi-mcp.backup", file)], "no passphrase that opens it"),
        (&[("raspi-mcp.backup", file)], "no passphrase that opens it"),
    ];
    for (on_card, why) in cases {
        let machine = Machine::with(on_card);
        let done = machine.starts();
        assert!(done.faults.iter().any(|fault| fault.contains(why)), "{why}: {done:?}");
        assert!(!done.faults.iter().any(|fault| fault.contains("horse")), "{done:?}");
        let identity = machine.identity();
        assert!(!identity.claimed && identity.name.is_none() && machine.claim().is_some(), "{why}");
        assert!(machine.state().kept.keys().all(|key| key == "identity"), "{why}");
        assert!(files(&machine.home.path().join("etc")).is_empty(), "{why}");
        on_card.iter().for_each(|(_, text)| {
            let there =
                machine.card.content()[&update::disk::Area::Config].windows(text.len()).any(|part| part == *text);
            assert!(there, "{why}: the file stays");
        });
    }
}

#[test]
fn a_machine_with_an_owner_takes_no_backup() {
    let machine = old_machine();
    let before = machine.state();
    machine.put(&[(TOML, with_words("").as_bytes()), ("raspi-mcp.backup", &old().1)]);
    let done = machine.starts();
    assert!(done.faults.iter().any(|fault| fault.contains("has an owner")), "{done:?}");
    assert_eq!(machine.identity(), Identity::of(&before).0);
    assert_eq!(generation::of(&machine.state()), 0);
    assert!(!machine.has_on_partition_1(WORDS), "the passphrase is erased");
}

#[test]
fn a_file_that_cannot_be_written_is_written_at_a_later_start_and_not_forgotten() {
    let machine = Machine::with(&[(TOML, with_words("").as_bytes()), ("raspi-mcp.backup", &old().1)]);
    // No folder can be made there.
    machine.puts("etc/raspi-mcp", "a file");
    let done = machine.starts();
    assert!(done.claimed && done.faults.iter().any(|fault| fault.contains("tried again")), "{done:?}");
    assert!(SavedFiles::are_pending(&machine.state()));
    fs::remove_file(machine.home.path().join("etc/raspi-mcp")).unwrap();
    let done = machine.starts();
    assert_eq!(done.faults, [""; 0]);
    is_old(&machine);
}

#[test]
fn later_changes_of_its_files_stay_when_a_copy_of_the_record_is_lost() {
    let machine = Machine::with(&[(TOML, with_words("").as_bytes()), ("raspi-mcp.backup", &old().1)]);
    machine.starts();
    for copy in [1, 2] {
        let content = super::torn(&machine.card.content(), copy);
        let state = StateStore::open(&Machine::of(content).card).unwrap().state;
        assert!(!SavedFiles::are_pending(&state) && Identity::of(&state).0 == old().0, "copy {copy} is lost");
    }
}

/// All files below one folder, in another machine's.
fn take_along(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir_all(&to).unwrap();
            take_along(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn cut_everywhere(start: &Content, home: Option<&Path>, seed: u64, depth: usize, states: &mut [usize; 2]) {
    let machine = Machine::of(start.clone());
    if let Some(home) = home {
        take_along(home, machine.home.path());
    }
    machine.tries_to_start().unwrap();
    let (mut cutter, mut dice) = (Cutter::new(start.clone()), Dice(seed));
    for event in machine.card.take_events() {
        cutter.apply(&event);
        for fate in cutter.fates(if depth == 0 { 24 } else { 3 }, &mut dice) {
            let content = cutter.state(&fate, &mut dice).make();
            let after = Machine::of(content.clone());
            let cut = after.state();
            let (identity, _) = Identity::of(&cut);
            let restored = identity.fingerprint() == old().0.fingerprint();
            assert_eq!((restored, identity.claimed), (restored, restored), "half of it is recorded");
            states[usize::from(restored)] += 1;
            // Only a record that has forgotten the files needs those that were written.
            let with = (restored && !SavedFiles::are_pending(&cut)).then(|| machine.home.path());
            if let Some(home) = with {
                take_along(home, after.home.path());
            }
            if depth == 0 && dice.below(16) == 0 {
                cut_everywhere(&content, with, seed ^ states[0] as u64, 1, states);
            }
            let done = after.starts();
            assert!(done.claimed, "{done:?}");
            is_old(&after);
            after.card.take_events();
            assert_eq!(after.starts().faults, [""; 0]);
            assert_eq!(after.card.take_events(), [], "a third start has nothing left to do");
        }
    }
}

#[test]
fn wherever_the_power_fails_it_is_restored_whole_by_the_next_start() {
    let start = card(&[(TOML, with_words("").as_bytes()), ("raspi-mcp.backup", &old().1)]);
    let mut states = [0, 0];
    cut_everywhere(&start, None, 0x5eed_0007, 0, &mut states);
    println!("{} states before it was recorded, {} after", states[0], states[1]);
    // Keys and salts are random, and so are these numbers: some 20 and 400.
    assert!(states[0] > 5 && states[1] > 60, "{states:?}");
}
