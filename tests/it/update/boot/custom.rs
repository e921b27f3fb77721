//! Configured commands: started as they are, bounded in time and words.

use super::Told as Says;
use ::update::{
    Slot,
    boot::{BootFlow, Tries, custom::Custom},
};
use base::error::ErrorCode;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

const LIMIT: Duration = Duration::from_secs(20);

/// A program that writes its arguments down, and then does `body` (with `$1` the word).
fn flow(folder: &Path, body: &str, limit: Duration) -> Custom {
    let (path, log) = (folder.join("boot flow; touch x"), folder.join("log"));
    fs::write(&path, format!("#!/bin/sh\necho \"$#:$*\" >>{}\n{body}\n", log.display())).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    Custom::new(path.to_str().unwrap(), Arc::new(Says::running(Slot::A)), limit).unwrap()
}

#[test]
fn commands_are_told_the_slot_and_tell_what_is() {
    let folder = tempfile::tempdir().unwrap();
    let said = r#"echo '{"trial":true,"booted":"B","default":"A","armed":"B","tries":{"a":3,"b":0}}'"#;
    let flow = flow(folder.path(), said, LIMIT);
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
    assert_eq!(log, "1:evidence\n2:arm B\n2:commit B\n1:disarm\n");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
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
        let evidence = flow(folder.path(), said, LIMIT).evidence();
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
    let error = flow(folder.path(), &hangs, limit).arm(Slot::B).unwrap_err();
    assert!(error.code == ErrorCode::Unavailable && error.message.contains("within 0.7 s"), "{}", error.message);
    // Its child was told as well: it is gone, or goes as soon as the machine has time for it. It may not even have come to be.
    let child = fs::read_to_string(&pid).ok().and_then(|pid| Pid::from_raw(pid.trim().parse().unwrap()));
    if let Some(child) = child.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) {
        let patience = Timespec { tv_sec: 60, tv_nsec: 0 };
        assert_eq!(poll(&mut [PollFd::new(&child, PollFlags::IN)], Some(&patience)), Ok(1));
    }
}

#[test]
fn a_command_that_leaves_something_behind_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let began = Instant::now();
    flow(folder.path(), "sleep 15 & exit 0", LIMIT).arm(Slot::B).unwrap();
    assert!(began.elapsed() < Duration::from_secs(14));
}

#[test]
fn the_program_is_a_full_path_and_there() {
    let new = |program: &str| Custom::new(program, Arc::new(Says::default()), LIMIT);
    for bad in ["", "arm", "./arm", "/bin/tr\0ue"] {
        let error = new(bad).err().unwrap();
        assert!(error.code == ErrorCode::InvalidArgument && error.hint.is_some(), "{bad:?}: {}", error.message);
    }
    let folder = tempfile::tempdir().unwrap();
    let missing = new(folder.path().join("missing").to_str().unwrap()).unwrap();
    assert!(missing.commit(Slot::A).unwrap_err().message.contains("missing commit A cannot be started"));
    assert!(missing.evidence().faults[0].contains("cannot be started"));
}
