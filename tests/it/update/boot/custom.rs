//! Configured commands: started as they are, bounded in time and words.

use super::Told as Says;
use raspi_mcp::{
    error::ErrorCode,
    update::{
        Slot,
        boot::custom::{Commands, Custom},
        boot::{BootFlow, Tries},
    },
};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

const LIMIT: Duration = Duration::from_secs(20);

/// A program that writes its arguments down and then does `body`.
fn program(folder: &Path, name: &str, body: &str) -> Vec<String> {
    let path = folder.join(name);
    let log = folder.join("log");
    fs::write(&path, format!("#!/bin/sh\necho \"{name}:$*\" >>{}\n{body}\n", log.display())).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    vec![path.display().to_string(), "$(touch x); 'word'".into()]
}

fn flow(folder: &Path, bodies: [&str; 4], limit: Duration) -> Custom {
    let [evidence, arm, disarm, commit] = bodies;
    let commands = Commands {
        evidence: program(folder, "evidence", evidence),
        arm: program(folder, "arm", arm),
        disarm: program(folder, "disarm", disarm),
        commit: program(folder, "commit", commit),
    };
    Custom::new(commands, String::new(), Arc::new(Says::running(Slot::A)), limit).unwrap()
}

#[test]
fn commands_are_told_the_slot_and_tell_what_is() {
    let folder = tempfile::tempdir().unwrap();
    let said = r#"echo '{"trial":true,"booted":"B","default":"A","armed":"B","tries":{"a":3,"b":0}}'"#;
    let flow = flow(folder.path(), [said, "", "", ""], LIMIT);
    assert_eq!((flow.name(), flow.trial_argument()), ("custom", None));
    let evidence = flow.evidence();
    assert_eq!((evidence.trial, evidence.booted, evidence.default), (Some(true), Some(Slot::B), Some(Slot::A)));
    assert_eq!((evidence.armed, evidence.tries), (Some(Slot::B), Some(Tries { a: 3, b: 0 })));
    // The mount at / is the machine's word.
    assert_eq!((evidence.root, evidence.faults.len()), (Some(Slot::A), 0));
    flow.arm(Slot::B).unwrap();
    flow.commit(Slot::B).unwrap();
    flow.disarm().unwrap();
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    let word = "$(touch x); 'word'";
    assert_eq!(log, format!("evidence:{word}\narm:{word} B\ncommit:{word} B\ndisarm:{word}\n"));
    assert!(!folder.path().join("x").exists());
}

#[test]
fn what_is_no_evidence_is_a_fault() {
    for (said, why) in [
        ("echo no", "says what is no evidence"),
        ("echo '{}' '{}'", "trailing"),
        ("echo '{\"slot\":\"A\"}'", "unknown field"),
        ("echo '{\"booted\":\"C\"}'", "unknown variant"),
        ("echo '{\"tries\":{\"a\":-1,\"b\":0}}'", "invalid value"),
        ("true", "no evidence"),
        ("echo '{}'; exit 3", "failed (exit status: 3)"),
        ("kill -9 $$", "signal: 9"),
        ("head -c 5000 /dev/zero", "more than 4096 bytes"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let evidence = flow(folder.path(), [said, "", "", ""], LIMIT).evidence();
        assert_eq!((evidence.booted, evidence.trial), (None, None));
        assert!(evidence.faults.iter().any(|fault| fault.contains(why)), "{said}: {:?}", evidence.faults);
    }
}

#[test]
fn a_command_that_does_not_end_is_killed_with_what_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let hangs = format!("sleep 1000 & echo $! >{}.new; mv {0}.new {0}; wait", pid.display());
    let limit = Duration::from_millis(700);
    let error = flow(folder.path(), ["", &hangs, "", ""], limit).arm(Slot::B).unwrap_err();
    assert!(error.code == ErrorCode::Unavailable && error.message.contains("within 0.7 s"), "{}", error.message);
    // It is gone, or nobody's any more.
    if let Ok(pid) = fs::read_to_string(&pid) {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
    }
}

#[test]
fn a_command_that_leaves_something_behind_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let began = Instant::now();
    flow(folder.path(), ["", "sleep 15 & exit 0", "", ""], LIMIT).arm(Slot::B).unwrap();
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn commands_are_absolute_and_there() {
    let folder = tempfile::tempdir().unwrap();
    let good = program(folder.path(), "good", "");
    for bad in
        [vec![], vec!["arm".into()], vec!["./arm".into()], vec![String::new()], vec!["/bin/true".into(), "a\0b".into()]]
    {
        let commands = Commands { evidence: good.clone(), arm: bad, disarm: good.clone(), commit: good.clone() };
        let error = Custom::new(commands, String::new(), Arc::new(Says::default()), LIMIT).err().unwrap();
        assert!(error.code == ErrorCode::InvalidArgument && error.message.contains("arm"), "{}", error.message);
    }
    let missing = vec![folder.path().join("missing").display().to_string()];
    let commands =
        Commands { evidence: missing.clone(), arm: missing.clone(), disarm: missing.clone(), commit: missing };
    let flow = Custom::new(commands, "1 try".into(), Arc::new(Says::default()), LIMIT).unwrap();
    assert_eq!(flow.trial_argument(), Some("1 try"));
    assert!(flow.commit(Slot::A).unwrap_err().message.contains("cannot be started"));
}
