//! The latch: who sets and lifts it, what it refuses, and what it outlives.

use super::*;
use ::agent::AskState;
use ::agent::operations::halt::{FollowHalt, FollowRequest, HaltAnswer, HaltRequest, LiftHalt, SetHalt};
use base::error::ErrorCode;
use contract::{actions::DOES, halt::HaltState};

/// A person at the machine halts it.
async fn halt(pi: &Pi, reason: &str) -> HaltAnswer {
    pi.person::<SetHalt>(HaltRequest { reason: Some(reason.into()), authorization: None }).await.unwrap()
}

async fn lift(pi: &Pi) -> Result<bool, ToolError> {
    pi.person::<LiftHalt>(Default::default()).await.map(|done| done.lifted)
}

async fn state(pi: &Pi) -> HaltState {
    pi.server().get::<FollowHalt>().await.unwrap()
}

fn is_halt(error: &ToolError) -> bool {
    error.code == ErrorCode::FailedPrecondition && error.details.get("halted") == Some(&json!(true))
}

fn file(pi: &Pi) -> std::path::PathBuf {
    pi.dir.path().join("agent/halt.json")
}

#[tokio::test]
async fn the_first_of_two_who_halt_stands_and_both_are_in_the_log() {
    let pi = Pi::with(|settings| settings.policy.namespaces.extend(["manage".into()]));
    let first = halt(&pi, "the pump leaks").await;
    assert_eq!((first.already, first.halted.by.as_str(), first.halted.how.as_str()), (false, "pi", "raspi-mcp halt"));
    let args = json!({"reason": "mine as well"});
    let call = HaltRequest { reason: Some("mine as well".into()), authorization: Some(authorization(&args, None)) };
    let second = pi.server().call::<SetHalt>(call).await.unwrap();
    assert_eq!((second.already, &second.halted), (true, &first.halted));
    assert_eq!(pi.server().get::<op::status::GetStatus>().await.unwrap().halted, Some(first.halted));
    assert_eq!((lift(&pi).await.unwrap(), lift(&pi).await.unwrap()), (true, false));
    let log = pi.log_of("operations");
    for part in
        ["\"halted\"", "the pump leaks", "mine as well", "token:fleet", "\"halt lifted\"", "raspi-mcp halt --lift"]
    {
        assert!(log.contains(part), "{part}: {log}");
    }
    assert_eq!(state(&pi).await.lifted.unwrap().by, "pi");
}

#[tokio::test]
async fn the_server_sets_it_for_a_call_by_policy_and_never_lifts_it() {
    let pi = Pi::new();
    let server = pi.server();
    let bare = server.call::<SetHalt>(HaltRequest::default()).await.unwrap_err();
    assert_eq!(bare.code, ErrorCode::PermissionDenied, "without a call it is nobody's word");
    let call = HaltRequest { reason: None, authorization: Some(authorization(&json!({}), None)) };
    let off = server.call::<SetHalt>(call.clone()).await.unwrap_err();
    assert!(off.message.contains("does not enable namespace manage"), "{off}");
    halt(&pi, "x").await;
    let error = server.get::<LiftHalt>().await.unwrap_err();
    assert_eq!(error.code, ErrorCode::PermissionDenied);
    assert!(error.hint.as_ref().unwrap().contains("raspi-mcp halt --lift"));
    // Whoever is a person at the machine does not speak for a caller.
    assert_eq!(pi.person::<SetHalt>(call).await.unwrap_err().code, ErrorCode::PermissionDenied);
    assert!(state(&pi).await.halted.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_halt_cancels_a_restart_that_a_call_ordered() {
    let pi = Pi::with(|settings| {
        settings.policy.modes.insert("system.reboot".into(), contract::meta::Mode::Allow);
    });
    let server = pi.server();
    server.call::<op::power::SchedulePower>(reboot(&kernel_update(), None)).await.unwrap();
    pi.pass(59).await;
    halt(&pi, "x").await;
    pi.pass(10).await;
    assert_eq!(pi.machine.reboots(), 0);
    let status = server.get::<op::status::GetStatus>().await.unwrap();
    assert_eq!(status.power, None);
    let last = status.last_power.unwrap();
    let cancelled = (::agent::power::PowerOutcome::Cancelled, Some("the machine was halted"));
    assert_eq!((last.outcome, last.note.as_deref()), cancelled);
    assert!(pi.log_of("operations").contains("\"cancelled\":\"reboot\""), "{}", pi.log_of("operations"));
}

#[tokio::test]
async fn a_reason_that_is_not_one_line_changes_nothing() {
    let pi = Pi::new();
    for bad in ["", "a\nb", "\u{1b}[2J", &"x".repeat(201)] {
        let request = HaltRequest { reason: Some(bad.into()), authorization: None };
        assert_eq!(pi.person::<SetHalt>(request).await.unwrap_err().code, ErrorCode::InvalidArgument);
    }
    assert_eq!(state(&pi).await, HaltState::default());
    assert!(!file(&pi).exists());
}

#[tokio::test]
async fn it_refuses_what_the_table_says_and_nothing_else() {
    let pi = Pi::new();
    halt(&pi, "x").await;
    for does in DOES {
        // One that cannot be asked for otherwise is refused for another reason.
        let asked = pi.server().call::<op::asks::OpenAsk>(ask(does.tool, json!({}))).await;
        assert_eq!(asked.is_err_and(|error| is_halt(&error)), does.halts, "{}", does.tool);
        let every = ::agent::AgentPolicy::is_operation(does.tool);
        assert!(!every || DOES.iter().any(|row| row.tool == does.tool));
    }
    let change = pi.server().call::<op::power::SchedulePower>(reboot(&kernel_update(), None)).await.unwrap_err();
    assert!(is_halt(&change), "{change}");
    let name = op::hostname::HostnameRequest {
        hostname: "other".into(),
        dry_run: false,
        authorization: authorization(&json!({"hostname": "other"}), None),
    };
    let error = pi.server().call::<op::hostname::SetHostname>(name.clone()).await.unwrap_err();
    assert!(is_halt(&error), "{error}");
    lift(&pi).await.unwrap();
    pi.server().call::<op::hostname::SetHostname>(name).await.unwrap();
}

#[tokio::test]
async fn it_denies_every_ask_and_none_of_these_denials_stands() {
    let pi = Pi::new();
    let server = pi.server();
    let (waits, approved) = (ask("system.reboot", json!({"n": 1})), ask("gpio.write_pin", json!({"n": 2})));
    let opened = server.call::<op::asks::OpenAsk>(waits.clone()).await.unwrap();
    let unused = server.call::<op::asks::OpenAsk>(approved.clone()).await.unwrap();
    pi.says(&unused, true).await.unwrap();
    let waiter = tokio::spawn({
        let (server, id) = (server.clone(), opened.id.clone());
        async move { server.call::<op::asks::AwaitAsk>(op::asks::AwaitRequest::new(&id, Duration::from_secs(200))).await }
    });
    tokio::task::yield_now().await;
    assert_eq!(halt(&pi, "x").await.denied, 2);
    let seen = waiter.await.unwrap().unwrap();
    assert_eq!(
        (seen.state, seen.by.as_deref(), seen.how.as_deref()),
        (AskState::Denied, Some("pi"), Some("raspi-mcp halt"))
    );
    assert!(is_halt(&redeem(&server, &unused.id, &approved).await.unwrap_err()));
    lift(&pi).await.unwrap();
    let error = redeem(&server, &unused.id, &approved).await.unwrap_err();
    assert!(error.message.contains("was denied"), "an approval from before does not come back: {error}");
    let again = server.call::<op::asks::OpenAsk>(waits).await.unwrap();
    assert_eq!((again.state, again.id == opened.id), (AskState::Pending, false), "a new question");
}

#[tokio::test]
async fn what_repairs_the_machine_is_asked_about_during_a_halt() {
    let pi = updatable_asking();
    halt(&pi, "x").await;
    let rollback = ask("manage.rollback", json!({}));
    let opened = pi.server().call::<op::asks::OpenAsk>(rollback).await.unwrap();
    assert_eq!(pi.says(&opened, true).await.unwrap().state, AskState::Approved);
}

fn updatable_asking() -> Pi {
    Pi::with(|settings| settings.policy.namespaces.extend(["manage".into()]))
}

#[tokio::test]
async fn a_signed_update_is_installed_during_a_halt() {
    let pi = super::update::updatable();
    halt(&pi, "x").await;
    let args = json!({});
    super::update::install(&pi.server(), super::update::request(&args, None), &super::update::bundle("1.1.0", 11))
        .await
        .unwrap();
    pi.server().call::<op::update::RebootIntoUpdate>(super::update::restart(&args)).await.unwrap();
}

#[tokio::test]
async fn it_outlives_the_agent_the_machine_and_the_data_partition() {
    let mut pi = super::update::updatable();
    let halted = halt(&pi, "the pump leaks").await.halted;
    pi.restart_agent();
    assert_eq!(state(&pi).await.halted.as_ref(), Some(&halted));
    pi.restart_machine();
    assert_eq!(state(&pi).await.halted.as_ref(), Some(&halted));
    // The data partition is lost, or an older copy of it is restored: the agent-state area has it.
    for older in [None, Some("{\"halted\":null}")] {
        match older {
            None => std::fs::remove_file(file(&pi)).unwrap(),
            Some(text) => std::fs::write(file(&pi), text).unwrap(),
        }
        pi.restart_agent();
        assert_eq!(state(&pi).await.halted.as_ref(), Some(&halted), "{older:?}");
    }
    assert!(lift(&pi).await.unwrap());
    pi.restart_agent();
    assert_eq!(state(&pi).await.halted, None);
    // A copy from during a halt is restored: a halt again.
    std::fs::write(file(&pi), json!({ "halted": halted }).to_string()).unwrap();
    pi.restart_agent();
    assert_eq!(state(&pi).await.halted.as_ref(), Some(&halted));
    assert!(lift(&pi).await.unwrap());
}

#[tokio::test]
async fn a_file_that_nobody_understands_is_a_halt_that_can_be_lifted() {
    let mut pi = Pi::new();
    for broken in ["", "{", "{\"halted\": 7}", "[]", "{}"] {
        std::fs::write(file(&pi), broken).unwrap();
        pi.restart_agent();
        let halted = state(&pi).await.halted.unwrap_or_else(|| panic!("{broken:?} is no halt"));
        assert_eq!((halted.by.as_str(), halted.how.as_str()), ("nobody known", "unreadable"));
        let faults = pi.server().get::<op::status::GetStatus>().await.unwrap().faults;
        assert!(faults.iter().any(|fault| fault.contains("halt.json is unreadable")), "{faults:?}");
        assert!(lift(&pi).await.unwrap());
        pi.restart_agent();
        assert_eq!(state(&pi).await.halted, None);
    }
    // Fields of a newer version do not make it one, nor do they hide it.
    std::fs::write(file(&pi), "{\"halted\": null, \"level\": 2}").unwrap();
    pi.restart_agent();
    assert_eq!(state(&pi).await.halted, None);
}

#[tokio::test]
async fn a_card_that_fails_halts_all_the_same_and_lifts_nothing() {
    let pi = Pi::new();
    // Nothing can be renamed over a folder.
    std::fs::create_dir_all(file(&pi).join("in the way")).unwrap();
    let request = HaltRequest { reason: None, authorization: None };
    let error = pi.person::<SetHalt>(request).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable);
    assert!(error.message.contains("is halted, but only until the agent restarts"), "{error}");
    assert!(state(&pi).await.halted.is_some());
    assert!(lift(&pi).await.unwrap_err().message.contains("stays halted"));
    assert!(state(&pi).await.halted.is_some());
    std::fs::remove_dir_all(file(&pi)).unwrap();
    // Set again, it is written after all.
    halt(&pi, "x").await;
    assert!(file(&pi).is_file());
    assert!(lift(&pi).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn who_follows_hears_of_a_change_when_it_happens() {
    let pi = Pi::new();
    let follow = |known: HaltState, wait_ms| {
        let server = pi.server();
        async move { server.call::<FollowHalt>(FollowRequest { known, wait_ms }).await.unwrap() }
    };
    assert_eq!(follow(HaltState::default(), 1000).await, HaltState::default(), "nothing changed");
    let waits = tokio::spawn(follow(HaltState::default(), op::halt::MAX_WAIT_MS));
    tokio::task::yield_now().await;
    assert!(!waits.is_finished());
    let halted = halt(&pi, "x").await.halted;
    let state = waits.await.unwrap();
    assert_eq!(state.halted, Some(halted));
    assert_eq!(follow(HaltState::default(), op::halt::MAX_WAIT_MS).await, state, "another than the known one: at once");
}
