//! Reboots: judged, scheduled, cancelled, resumed, never lost silently.

use super::*;
use ::agent::{
    machine::{MachineControl, RealMachine},
    power::PowerOutcome,
};
use base::{error::ErrorCode, os::bus::DBus};
use contract::meta::Mode;

/// A machine whose policy lets reboots through without asking.
fn trusting() -> Pi {
    mode(Mode::Allow)
}

fn mode(mode: Mode) -> Pi {
    Pi::with(|settings| {
        settings.policy.modes.insert("system.reboot".into(), mode);
    })
}

#[tokio::test(start_paused = true)]
async fn an_approved_reboot_happens_at_its_time_and_once() {
    let pi = Pi::new();
    let server = pi.server();
    let args = kernel_update();
    let opened = server.call::<op::asks::OpenAsk>(ask("system.reboot", args.clone())).await.unwrap();
    pi.says(&opened, true).await.unwrap();
    // The pipeline's check leaves the approval to the operation.
    redeem(&server, &opened.id, &ask("system.reboot", kernel_update())).await.unwrap();
    let scheduled = server.call::<op::power::SchedulePower>(reboot(&args, Some(&opened.id))).await.unwrap();
    assert_eq!(scheduled.at_ms, NOON + 60_000);

    pi.pass(59).await;
    assert_eq!(pi.machine.reboots(), 0);
    pi.pass(2).await;
    assert_eq!(pi.machine.reboots(), 1);
    let status = server.get::<op::status::GetStatus>().await.unwrap();
    assert_eq!(status.power, None);
    assert_eq!(status.last_power.unwrap().outcome, PowerOutcome::Simulated);

    let again = server.call::<op::power::SchedulePower>(reboot(&args, Some(&opened.id))).await.unwrap_err();
    assert_eq!(again.code, ErrorCode::PermissionDenied);
    assert!(pi.log().contains("\"reboot\""));
}

#[tokio::test]
async fn the_agent_wants_its_own_ask_whatever_the_server_says() {
    let pi = Pi::new();
    let server = pi.server();
    let args = kernel_update();
    for ask_id in [None, Some("ABCDEF")] {
        let error = server.call::<op::power::SchedulePower>(reboot(&args, ask_id)).await.unwrap_err();
        assert!(matches!(error.code, ErrorCode::PermissionDenied | ErrorCode::NotFound), "{error}");
    }
    let opened = server.call::<op::asks::OpenAsk>(ask("system.reboot", args.clone())).await.unwrap();
    let error = server.call::<op::power::SchedulePower>(reboot(&args, Some(&opened.id))).await.unwrap_err();
    assert!(error.message.contains("not been answered"), "{error}");
}

#[tokio::test]
async fn what_was_shown_is_what_is_done() {
    let pi = Pi::new();
    let server = pi.server();
    let shown = kernel_update();
    let opened = server.call::<op::asks::OpenAsk>(ask("system.reboot", shown.clone())).await.unwrap();
    pi.says(&opened, true).await.unwrap();
    // A server that lies about the arguments keeps the hash and changes the deed.
    let sooner = op::power::PowerRequest { delay_seconds: 0, ..reboot(&shown, Some(&opened.id)) };
    let unsaid = op::power::PowerRequest { reason: None, ..reboot(&shown, Some(&opened.id)) };
    for lie in [sooner, unsaid] {
        let error = server.call::<op::power::SchedulePower>(lie).await.unwrap_err();
        assert_eq!((error.code, &error.details["differs"]), (ErrorCode::PermissionDenied, &json!("arguments")));
    }
    server
        .call::<op::power::SchedulePower>(reboot(&shown, Some(&opened.id)))
        .await
        .expect("the lies did not use the approval up");
}

#[tokio::test]
async fn a_policy_that_says_no_is_asked_before_any_person() {
    for (pi, words) in [
        (Pi::with(|settings| settings.policy.namespaces.clear()), "does not enable namespace system"),
        (mode(Mode::Deny), "denies system.reboot"),
        (Pi::with(|settings| settings.policy.disabled.extend(["system".to_owned()])), "switches system.reboot off"),
    ] {
        let server = pi.server();
        let error = server.call::<op::asks::OpenAsk>(ask("system.reboot", json!({}))).await.unwrap_err();
        assert!(error.message.contains(words), "{error}");
        let error = server.call::<op::power::SchedulePower>(reboot(&json!({}), None)).await.unwrap_err();
        assert!(error.message.contains(words), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_scheduled_reboot_can_be_taken_back() {
    let pi = trusting();
    let server = pi.server();
    server.call::<op::power::SchedulePower>(reboot(&kernel_update(), None)).await.unwrap();
    let second = server.call::<op::power::SchedulePower>(reboot(&kernel_update(), None)).await.unwrap_err();
    assert_eq!(second.code, ErrorCode::Conflict);
    assert_eq!(second.details["at"], "2023-11-14T22:14:20.000Z");
    let asked = server.call::<op::asks::OpenAsk>(ask("system.reboot", json!({}))).await.unwrap_err();
    assert_eq!(asked.code, ErrorCode::Conflict, "nobody is asked for what would be refused");
    assert!(server.get::<op::asks::ListAsks>().await.unwrap().is_empty());
    assert!(
        server
            .call::<op::power::CancelPower>(op::power::CancelRequest { action: PowerAction::Reboot })
            .await
            .unwrap()
            .cancelled
    );
    assert!(
        !server
            .call::<op::power::CancelPower>(op::power::CancelRequest { action: PowerAction::Reboot })
            .await
            .unwrap()
            .cancelled,
        "there is none any more"
    );
    pi.pass(120).await;
    assert_eq!(pi.machine.reboots(), 0);
    assert_eq!(
        server.get::<op::status::GetStatus>().await.unwrap().last_power.unwrap().outcome,
        PowerOutcome::Cancelled
    );
}

#[tokio::test(start_paused = true)]
async fn a_reboot_is_kept_by_the_agent_that_comes_after() {
    let mut pi = trusting();
    pi.server().call::<op::power::SchedulePower>(reboot(&kernel_update(), None)).await.unwrap();
    pi.now_ms.fetch_add(20_000, Ordering::SeqCst);
    pi.restart_agent();
    assert_eq!(pi.server().get::<op::status::GetStatus>().await.unwrap().power.unwrap().at_ms, NOON + 60_000);
    pi.pass(39).await;
    assert_eq!(pi.machine.reboots(), 0);
    pi.pass(2).await;
    assert_eq!(pi.machine.reboots(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_reboot_just_missed_is_made_good_and_one_long_missed_is_reported() {
    for (away_seconds, reboots, outcome) in [(100, 1, PowerOutcome::Simulated), (3600, 0, PowerOutcome::Missed)] {
        let mut pi = trusting();
        pi.server().call::<op::power::SchedulePower>(reboot(&kernel_update(), None)).await.unwrap();
        pi.now_ms.fetch_add(away_seconds * 1000, Ordering::SeqCst);
        pi.restart_agent();
        pi.pass(1).await;
        assert_eq!(pi.machine.reboots(), reboots);
        let last = pi.server().get::<op::status::GetStatus>().await.unwrap().last_power.unwrap();
        assert_eq!(last.outcome, outcome);
    }
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_restarted_meanwhile_is_not_restarted_again() {
    let mut pi = trusting();
    pi.server().call::<op::power::SchedulePower>(reboot(&kernel_update(), None)).await.unwrap();
    pi.restart_machine();
    pi.pass(120).await;
    assert_eq!(pi.machine.reboots(), 0);
    assert_eq!(
        pi.server().get::<op::status::GetStatus>().await.unwrap().last_power.unwrap().outcome,
        PowerOutcome::Overtaken
    );
}

#[tokio::test(start_paused = true)]
async fn a_reboot_that_fails_says_so() {
    let pi = trusting();
    pi.machine.fail_next(ToolError::unavailable("systemd is busy"));
    pi.server().call::<op::power::SchedulePower>(reboot(&kernel_update(), None)).await.unwrap();
    pi.pass(61).await;
    let last = pi.server().get::<op::status::GetStatus>().await.unwrap().last_power.unwrap();
    assert_eq!((last.outcome, last.note.as_deref()), (PowerOutcome::Failed, Some("systemd is busy")));
}

#[tokio::test(start_paused = true)]
async fn four_reboots_an_hour_are_enough_even_across_restarts() {
    let mut pi = trusting();
    for _ in 0..4 {
        pi.server().call::<op::power::SchedulePower>(reboot(&json!({"delay_seconds": 1}), None)).await.unwrap();
        pi.pass(2).await;
        pi.restart_agent();
    }
    assert_eq!(pi.machine.reboots(), 4);
    let fifth = pi.server().call::<op::power::SchedulePower>(reboot(&json!({}), None)).await.unwrap_err();
    assert_eq!(fifth.code, ErrorCode::ResourceExhausted);
    pi.pass(3600).await;
    pi.server().call::<op::power::SchedulePower>(reboot(&json!({}), None)).await.unwrap();
}

#[tokio::test]
async fn a_delay_over_ten_minutes_is_refused() {
    let error = trusting()
        .server()
        .call::<op::power::SchedulePower>(reboot(&json!({"delay_seconds": 601}), None))
        .await
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
}

#[tokio::test]
async fn a_spoiled_note_is_reported_not_fatal() {
    let mut pi = trusting();
    std::fs::write(pi.dir.path().join("agent/power.json"), "{ half").unwrap();
    pi.restart_agent();
    let faults = pi.server().get::<op::status::GetStatus>().await.unwrap().faults;
    assert!(faults[0].contains("power.json"), "{faults:?}");
    pi.server().call::<op::power::SchedulePower>(reboot(&json!({"delay_seconds": 600}), None)).await.unwrap();
    let aside = std::fs::read_to_string(pi.dir.path().join("agent/power.json.unread")).unwrap();
    assert_eq!(aside, "{ half", "what could not be read is set aside");
}

#[tokio::test]
async fn a_note_of_a_newer_release_is_read_as_far_as_it_is_understood() {
    let mut pi = trusting();
    pi.server().call::<op::power::SchedulePower>(reboot(&json!({"delay_seconds": 600}), None)).await.unwrap();
    let file = pi.dir.path().join("agent/power.json");
    let mut note: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    (note["why"], note["pending"]["why"], note["pending"]["scheduled"]["why"]) = (json!(1), json!(2), json!(3));
    std::fs::write(&file, note.to_string()).unwrap();
    pi.restart_agent();
    let status = pi.server().get::<op::status::GetStatus>().await.unwrap();
    assert!(status.faults.is_empty(), "{:?}", status.faults);
    assert!(status.power.is_some(), "{status:?}");
    pi.server().call::<op::power::CancelPower>(op::power::CancelRequest { action: PowerAction::Reboot }).await.unwrap();
    let now: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(now["why"], json!(1), "{now}");
}

/// A root with a systemctl that notes how it was called and ends with this code.
fn machine_with_systemctl(code: u8) -> (TempDir, RealMachine) {
    let dir = tempdir().unwrap();
    let bin = dir.path().join("usr/bin");
    std::fs::create_dir_all(&bin).unwrap();
    let called = dir.path().join("called");
    let script = format!(
        "#!/bin/sh\necho \"$@\" > {}\necho 'Call to Reboot failed: Access denied' >&2\nexit {code}\n",
        called.display()
    );
    // Written by another process: a descriptor open for writing here could be inherited by what some other test starts
    // at this moment, and the kernel runs no file that is open for writing.
    let write = std::process::Command::new("/bin/sh")
        .args(["-c", "printf %s \"$1\" > \"$2\" && chmod 755 \"$2\"", "sh", &script])
        .arg(bin.join("systemctl"))
        .status();
    assert!(write.unwrap().success());
    let machine = RealMachine { root: Root::at(dir.path()), bus: DBus::at("unix:path=/nowhere") };
    (dir, machine)
}

#[test]
fn a_real_machine_is_told_through_systemd() {
    let (dir, machine) = machine_with_systemctl(0);
    for (action, words) in
        [(PowerAction::Reboot, "--no-block reboot\n"), (PowerAction::Shutdown, "--no-block poweroff\n")]
    {
        machine.schedule_power(action).unwrap();
        assert_eq!(std::fs::read_to_string(dir.path().join("called")).unwrap(), words);
    }
    assert!(!machine.is_simulated());

    let (_dir, machine) = machine_with_systemctl(1);
    let error = machine.schedule_power(PowerAction::Reboot).unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable);
    assert!(error.message.contains("Access denied"), "{error}");

    let nothing = RealMachine { root: Root::at("/nonexistent"), bus: DBus::at("unix:path=/nowhere") };
    assert_eq!(nothing.schedule_power(PowerAction::Reboot).unwrap_err().code, ErrorCode::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn a_real_reboot_is_settled_by_the_next_start() {
    let (dir, machine) = machine_with_systemctl(0);
    let boot_id = dir.path().join("proc/sys/kernel/random");
    std::fs::create_dir_all(&boot_id).unwrap();
    std::fs::write(boot_id.join("boot_id"), "before\n").unwrap();
    let mut settings = Pi::settings_in(dir.path());
    settings.simulated = false;
    settings.policy.modes.insert("system.reboot".into(), Mode::Allow);
    let machine: Arc<dyn MachineControl> = Arc::new(machine);
    let start = || {
        let platform = Platform::new(Arc::new(|| NOON), Arc::clone(&machine));
        AgentLink::InProcess(Agent::start(settings.clone(), platform).unwrap())
    };
    let agent = start();
    assert!(
        !agent.call::<op::power::SchedulePower>(reboot(&json!({"delay_seconds": 1}), None)).await.unwrap().simulated
    );
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(dir.path().join("called").exists());
    let begun = agent
        .call::<op::power::CancelPower>(op::power::CancelRequest { action: PowerAction::Reboot })
        .await
        .unwrap_err();
    assert_eq!(begun.code, ErrorCode::Conflict);
    drop(agent);

    std::fs::write(boot_id.join("boot_id"), "after\n").unwrap();
    let status = start().get::<op::status::GetStatus>().await.unwrap();
    assert_eq!((status.power, status.last_power.unwrap().outcome), (None, PowerOutcome::Done));
}

fn shutdown(args: &Value, ask_id: Option<&str>) -> op::power::PowerRequest {
    op::power::PowerRequest { action: PowerAction::Shutdown, ..reboot(args, ask_id) }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_has_to_be_named_by_policy_and_is_then_like_a_reboot() {
    let silent = Pi::new();
    let error = silent.server().call::<op::power::SchedulePower>(shutdown(&json!({}), None)).await.unwrap_err();
    assert!(error.message.contains("denies system.shutdown"), "{error}");

    let pi = Pi::with(|settings| {
        settings.policy.modes.insert("system.shutdown".into(), Mode::Ask);
    });
    let server = pi.server();
    let opened = server.call::<op::asks::OpenAsk>(ask("system.shutdown", kernel_update())).await.unwrap();
    pi.says(&opened, true).await.unwrap();
    // An approval to switch off is none to restart, and the other way round.
    server.call::<op::power::SchedulePower>(reboot(&kernel_update(), Some(&opened.id))).await.unwrap_err();
    server.call::<op::power::SchedulePower>(shutdown(&kernel_update(), Some(&opened.id))).await.unwrap();
    assert_eq!(server.get::<op::status::GetStatus>().await.unwrap().power.unwrap().action, PowerAction::Shutdown);

    let other = server
        .call::<op::power::CancelPower>(op::power::CancelRequest { action: PowerAction::Reboot })
        .await
        .unwrap_err();
    assert_eq!((other.code, other.message.as_str()), (ErrorCode::Conflict, "a shutdown is scheduled, no reboot"));
    pi.pass(61).await;
    assert_eq!((pi.machine.reboots(), pi.machine.shutdowns()), (0, 1));
    let last = server.get::<op::status::GetStatus>().await.unwrap().last_power.unwrap();
    assert_eq!((last.scheduled.action, last.outcome), (PowerAction::Shutdown, PowerOutcome::Simulated));
}

#[test]
fn a_container_that_starts_anew_has_its_hosts_boot_id_and_is_another_start_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let machine = RealMachine { root: Root::at(dir.path()), bus: DBus::at("unix:path=/nowhere") };
    let none = machine.boot_id();
    let file = |name: &str, text: &str| {
        let path = dir.path().join("proc").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    file("sys/kernel/random/boot_id", "0b61bba6\n");
    // As proc_pid_stat(5) has it; a process may call itself anything.
    let first =
        |began: u32| file("1/stat", &format!("1 (in) it) S 0 1 1 0 -1 4194560 9 9 9 9 9 9 9 9 20 0 1 0 {began} 170 3"));
    first(12);
    let before = machine.boot_id();
    assert_eq!(before, machine.boot_id());
    first(99_012);
    assert_ne!(before, machine.boot_id());
    first(12);
    file("sys/kernel/random/boot_id", "4c47b7ea\n");
    assert_ne!(before, machine.boot_id());
    assert_ne!(none, machine.boot_id());
}
