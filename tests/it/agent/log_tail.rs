//! What is kept of a trial's log, before a journalctl of the test's own.

use super::{
    update::{one_second_for_2_0_0, restarted, updatable_with_a_second},
    *,
};
use ::agent::operations::update::RollBackRequest;
use ::update::{slots::LONGEST_LOG, status::Attempt};
use std::{fs, os::unix::fs::PermissionsExt, time::Instant};

/// Before what it says.
const SCRIPT: &str = r#"#!/bin/sh
here=${0%/*}
printf '%s\n' "$@" >"$here/args"
echo $$ >"$here/pid.new" && mv "$here/pid.new" "$here/pid"
"#;

/// The machine's journalctl does that.
fn journalctl(pi: &Pi, does: &str) {
    let at = pi.dir.path().join("usr/bin");
    fs::create_dir_all(&at).unwrap();
    let program = at.join("journalctl");
    fs::write(&program, format!("{SCRIPT}{does}")).unwrap();
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
}

fn line(message: &Value) -> String {
    let json = json!({"__CURSOR": "s=a", "__REALTIME_TIMESTAMP": "1768486200000000", "MESSAGE": message, "SYSLOG_IDENTIFIER": "raspi-mcp"});
    format!("{json}\n")
}

/// A trial of a second before that journal, to its end; how it is remembered, and how long all of it took.
async fn condemned(does: &str) -> (Pi, Attempt, Duration) {
    let began = Instant::now();
    let pi = updatable_with_a_second();
    journalctl(&pi, does);
    let link = pi.server();
    one_second_for_2_0_0(&pi).await;
    restarted(&pi, 2).await;
    let attempt = link.get::<op::update::GetUpdateStatus>().await.unwrap().last_attempt.unwrap();
    assert!(attempt.reason.contains("not healthy within 1 s"), "{}", attempt.reason);
    (pi, attempt, began.elapsed())
}

#[tokio::test]
async fn the_newest_lines_of_the_trials_boot_are_kept_oldest_first() {
    let bytes: Vec<u8> = b"third \xff\xfe".to_vec();
    let said =
        [json!(bytes), json!("second token=hunter2hunter2"), json!("first\nof two lines")].map(|text| line(&text));
    let (pi, attempt, _) = condemned(&format!("cat <<'END'\n-- no JSON\n{}END\n", said.concat())).await;
    let log = attempt.log_tail.unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!((lines[0], lines[1], lines.len()), ("raspi-mcp: first", "of two lines", 4));
    assert!(lines[2].starts_with("raspi-mcp: second token=") && !log.contains("hunter2"), "{log}");
    assert_eq!(lines[3], "raspi-mcp: third \u{fffd}\u{fffd}");
    let args = fs::read_to_string(pi.dir.path().join("usr/bin/args")).unwrap();
    for arg in ["--unit=raspi-mcp.service", "--boot=0", "--reverse", "--output=json"] {
        assert!(args.lines().any(|line| line == arg), "{arg}: {args}");
    }
}

#[tokio::test]
async fn a_journal_that_hangs_holds_no_restart_up_and_loses_nothing_that_came() {
    let hangs = format!("cat <<'END'\n{}END\nexec sleep 1000\n", line(&json!("before it hung")));
    let (pi, attempt, took) = condemned(&hangs).await;
    assert_eq!(attempt.log_tail.as_deref(), Some("raspi-mcp: before it hung"));
    assert!(took < Duration::from_secs(12), "{took:?}");
    let pid = fs::read_to_string(pi.dir.path().join("usr/bin/pid")).unwrap();
    for _ in 0..500 {
        if !fs::exists(format!("/proc/{}", pid.trim())).unwrap() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{pid} is still there");
}

#[tokio::test]
async fn a_journal_without_end_is_read_as_far_as_is_kept() {
    let long = line(&json!("x".repeat(1000)));
    let endless = format!("while :; do cat <<'END'\n{}END\ndone\n", long.repeat(50));
    let giant = format!("cat <<'END'\n{}END\n", line(&json!(format!("{}end", "é".repeat(5000)))));
    let ((_, endless, took), (_, giant, _)) = tokio::join!(condemned(&endless), condemned(&giant));
    let log = endless.log_tail.unwrap();
    assert!(log.len() <= LONGEST_LOG && log.lines().count() == 4, "{}", log.len());
    assert!(log.lines().all(|line| line.len() == "raspi-mcp: ".len() + 1000), "whole lines");
    assert!(took < Duration::from_secs(9), "it is not waited for: {took:?}");
    // One line that is longer than all that is kept: its end.
    let log = giant.log_tail.unwrap();
    assert!(log.len() <= LONGEST_LOG && log.len() > LONGEST_LOG - 4 && log.ends_with("éend"), "{}", log.len());
}

#[tokio::test]
async fn without_a_journal_there_is_no_log_and_the_trial_ends_as_it_did() {
    let without_the_program = async {
        let pi = updatable_with_a_second();
        one_second_for_2_0_0(&pi).await;
        restarted(&pi, 2).await;
        pi.server().get::<op::update::GetUpdateStatus>().await.unwrap().last_attempt.unwrap().log_tail
    };
    let ((_, one, _), (_, other, _), none) =
        tokio::join!(condemned("exit 1\n"), condemned("echo nonsense\n"), without_the_program);
    assert_eq!((one.log_tail, other.log_tail, none), (None, None, None));
}

#[tokio::test]
async fn who_ends_a_trial_keeps_its_log_as_well() {
    let mut pi = updatable_with_a_second();
    pi.settings.update.health_deadline_seconds = 60;
    pi.start();
    journalctl(&pi, &format!("cat <<'END'\n{}END\n", line(&json!("no gateway"))));
    one_second_for_2_0_0(&pi).await;
    restarted(&pi, 1).await;
    let request = |dry_run| RollBackRequest { dry_run, authorization: authorization(&json!({}), None) };
    pi.server().call::<op::update::RollBack>(request(true)).await.unwrap();
    assert!(!pi.dir.path().join("usr/bin/args").exists(), "a dry run reads nothing");
    pi.server().call::<op::update::RollBack>(request(false)).await.unwrap();
    restarted(&pi, 2).await;
    let attempt = pi.server().get::<op::update::GetUpdateStatus>().await.unwrap().last_attempt.unwrap();
    assert_eq!(attempt.log_tail.as_deref(), Some("raspi-mcp: no gateway"));
    assert!(attempt.reason.contains("rolled back by token:fleet"), "{}", attempt.reason);
}
