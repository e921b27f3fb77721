//! A finger on the approval button, and what comes of it. The seconds are real ones: the kernel stamps the edges.

use super::{Pi, ask, kernel_update};
use ::agent::operations as op;
use ::agent::{Ask, AskState, operations::halt::FollowHalt};
use ::hw::line::Level;
use contract::{config::Approval, values::Pin};
use raspi_mcp::registry::Registry;
use serde_json::json;
use std::time::{Duration, Instant};

const BUTTON: u64 = 17;
const LED: u64 = 27;

fn pin(number: u64) -> Pin {
    Pin::try_from(number).unwrap()
}

/// A machine with a button to ground and an LED.
fn pi() -> Pi {
    with(|_| {})
}

fn with(before: impl FnOnce(&Pi)) -> Pi {
    let mut pi = Pi::new();
    pi.settings.approval = Approval { button_pin: BUTTON as u8, led_pin: LED as u8, ..Approval::default() };
    release(&pi);
    before(&pi);
    pi.start();
    pi
}

fn press(pi: &Pi) {
    pi.gpio.drive(pin(BUTTON), Some(Level::Low));
}

fn release(pi: &Pi) {
    pi.gpio.drive(pin(BUTTON), Some(Level::High));
}

/// An ask, once the LED has said so.
async fn opened(pi: &Pi, tool: &str, number: u32) -> Ask {
    let ask = pi.server().call::<op::asks::OpenAsk>(ask(tool, json!({ "number": number }))).await.unwrap();
    steady(pi, Duration::from_secs(3)).await;
    assert_eq!(pi.gpio.level(pin(LED)), Level::High, "the LED says nothing");
    // A release is one after 50 ms: let the one at the start have been.
    tokio::time::sleep(Duration::from_millis(60)).await;
    ask
}

async fn state(pi: &Pi, ask: &Ask, wait: Duration) -> Ask {
    pi.server().call::<op::asks::AwaitAsk>(op::asks::AwaitRequest::new(&ask.id, wait)).await.unwrap()
}

/// For how long the LED is as it is, to 5 ms; at most so long as `limit`.
async fn steady(pi: &Pi, limit: Duration) -> Duration {
    let (began, level) = (Instant::now(), pi.gpio.level(pin(LED)));
    while pi.gpio.level(pin(LED)) == level && began.elapsed() < limit {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    began.elapsed()
}

/// A whole half of the LED's blinking.
async fn blinks(pi: &Pi) -> Duration {
    steady(pi, Duration::from_secs(3)).await;
    steady(pi, Duration::from_secs(3)).await
}

/// Until a hold has been long enough, and some more.
const LONG: Duration = Duration::from_millis(2400);

/// Presses for as long as an approval takes, and lets go.
async fn approve(pi: &Pi) {
    press(pi);
    tokio::time::sleep(LONG).await;
    release(pi);
}

#[tokio::test]
async fn two_seconds_and_letting_go_approve_and_the_records_say_how() {
    let pi = pi();
    assert_eq!(pi.gpio.consumer(pin(BUTTON)).as_deref(), Some("raspi-mcp approval button"));
    assert_eq!(pi.gpio.consumer(pin(LED)).as_deref(), Some("raspi-mcp approval LED"));
    assert_eq!(pi.gpio.level(pin(LED)), Level::Low, "nothing is asked");
    let asked = opened(&pi, "system.reboot", 1).await;
    let half = blinks(&pi).await;
    assert!((400..700).contains(&half.as_millis()), "slow: {half:?}");
    press(&pi);
    assert_eq!(state(&pi, &asked, LONG).await.state, AskState::Pending, "not while it is held");
    release(&pi);
    let answered = state(&pi, &asked, Duration::from_secs(10)).await;
    assert_eq!(answered.state, AskState::Approved);
    assert_eq!((answered.by.as_deref(), answered.how.as_deref()), (Some("the button on GPIO 17"), Some("button")));
    tokio::task::yield_now().await;
    assert_eq!(pi.gpio.level(pin(LED)), Level::Low, "nothing is asked any more");
    let log = pi.log();
    assert!(log.contains("\"how\":\"button\"") && log.contains("the button on GPIO 17"), "{log}");
    // Another ask comes under a finger: it has not meant that one.
    press(&pi);
    let other = opened(&pi, "system.reboot", 2).await;
    tokio::time::sleep(LONG).await;
    release(&pi);
    assert_eq!(state(&pi, &other, Duration::from_millis(300)).await.state, AskState::Pending);
    assert_eq!(pi.server().get::<FollowHalt>().await.unwrap().halted, None);
}

#[tokio::test]
async fn five_seconds_approve_nothing_and_ten_halt_and_deny() {
    let pi = pi();
    let asked = opened(&pi, "system.reboot", 1).await;
    press(&pi);
    tokio::time::sleep(Duration::from_millis(5200)).await;
    assert!(blinks(&pi).await < Duration::from_millis(250), "letting go does nothing, the LED says");
    release(&pi);
    assert_eq!(state(&pi, &asked, Duration::from_millis(300)).await.state, AskState::Pending);
    let pressed = Instant::now();
    press(&pi);
    let denied = state(&pi, &asked, Duration::from_secs(20)).await;
    assert!(pressed.elapsed() >= Duration::from_secs(10), "{:?}", pressed.elapsed());
    assert_eq!((denied.state, denied.how.as_deref()), (AskState::Denied, Some("button")));
    let halted = pi.server().get::<FollowHalt>().await.unwrap().halted.unwrap();
    assert_eq!((halted.by.as_str(), halted.how.as_str()), ("the button on GPIO 17", "button"));
    steady(&pi, Duration::from_millis(250)).await;
    assert_eq!(pi.gpio.level(pin(LED)), Level::High, "it has halted");
    release(&pi);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(pi.gpio.level(pin(LED)), Level::Low, "nothing is asked any more");
}

#[tokio::test]
async fn a_button_that_is_down_from_the_start_approves_nothing_until_let_go() {
    let pi = with(press);
    let asked = opened(&pi, "system.reboot", 1).await;
    assert_eq!(state(&pi, &asked, LONG).await.state, AskState::Pending);
    release(&pi);
    // A release is one after 50 ms.
    tokio::time::sleep(Duration::from_millis(60)).await;
    approve(&pi).await;
    assert_eq!(state(&pi, &asked, Duration::from_secs(10)).await.state, AskState::Approved);
}

#[tokio::test]
async fn short_presses_do_not_add_up() {
    let pi = pi();
    let asked = opened(&pi, "system.reboot", 1).await;
    for _ in 0..2 {
        press(&pi);
        assert_eq!(state(&pi, &asked, Duration::from_millis(1500)).await.state, AskState::Pending);
        release(&pi);
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    assert_eq!(state(&pi, &asked, Duration::from_millis(300)).await.state, AskState::Pending);
}

#[tokio::test]
async fn with_two_asks_it_says_so_and_does_nothing() {
    let pi = pi();
    let second = pi.server().call::<op::asks::OpenAsk>(ask("gpio.write_pin", json!({}))).await.unwrap();
    let asks = [opened(&pi, "system.reboot", 1).await, second];
    press(&pi);
    let half = blinks(&pi).await;
    assert!(half < Duration::from_millis(250), "fast: {half:?}");
    assert_eq!(state(&pi, &asks[0], LONG).await.state, AskState::Pending);
    assert_eq!(state(&pi, &asks[1], Duration::ZERO).await.state, AskState::Pending);
    // One is withdrawn under the finger: the other is not approved by a press that began before.
    pi.server().call::<op::asks::WithdrawAsk>(op::asks::WithdrawRequest { id: asks[0].id.clone() }).await.unwrap();
    assert_eq!(state(&pi, &asks[1], Duration::from_millis(300)).await.state, AskState::Pending);
    release(&pi);
    assert_eq!(state(&pi, &asks[1], Duration::from_millis(300)).await.state, AskState::Pending);
}

#[tokio::test]
async fn a_flood_of_asks_under_the_finger_approves_none_of_them() {
    let pi = pi();
    let mut asks = vec![opened(&pi, "system.reboot", 0).await];
    press(&pi);
    for number in 1..40 {
        let last = asks.last().unwrap().clone();
        assert_eq!(state(&pi, &last, Duration::from_millis(60)).await.state, AskState::Pending);
        // Each takes the place of the one before it: one is pending nearly throughout.
        pi.server().call::<op::asks::WithdrawAsk>(op::asks::WithdrawRequest { id: last.id.clone() }).await.unwrap();
        asks.push(
            pi.server().call::<op::asks::OpenAsk>(ask("system.reboot", json!({ "number": number }))).await.unwrap(),
        );
    }
    release(&pi);
    tokio::time::sleep(Duration::from_millis(300)).await;
    for asked in &asks {
        assert_ne!(state(&pi, asked, Duration::ZERO).await.state, AskState::Approved);
    }
}

#[tokio::test]
async fn trust_policy_and_reset_are_not_for_a_finger() {
    let pi = pi();
    let asked = opened(&pi, "manage.add_trust", 1).await;
    press(&pi);
    assert!(blinks(&pi).await < Duration::from_millis(250), "it says that it cannot");
    assert_eq!(state(&pi, &asked, LONG).await.state, AskState::Pending);
    release(&pi);
    assert_eq!(state(&pi, &asked, Duration::from_millis(300)).await.state, AskState::Pending);
    // A person at the console can.
    assert_eq!(pi.says(&asked, true).await.unwrap().state, AskState::Approved);
}

#[tokio::test]
async fn an_approval_by_hand_is_good_for_that_one_call() {
    let pi = pi();
    let asked = pi.server().call::<op::asks::OpenAsk>(ask("system.reboot", kernel_update())).await.unwrap();
    blinks(&pi).await;
    approve(&pi).await;
    assert_eq!(state(&pi, &asked, Duration::from_secs(10)).await.state, AskState::Approved);
    let other = super::reboot(&json!({"reason": "another", "delay_seconds": 60}), Some(&asked.id));
    assert!(pi.server().call::<op::power::SchedulePower>(other).await.is_err(), "other arguments");
    pi.server().call::<op::power::SchedulePower>(super::reboot(&kernel_update(), Some(&asked.id))).await.unwrap();
}

#[tokio::test]
async fn lines_that_cannot_be_had_are_said_and_stop_nobody() {
    let gpio = Pi::new().gpio.clone();
    let others = gpio.hold(pin(BUTTON), "somebody else").unwrap();
    let mut pi = Pi::new();
    pi.gpio = gpio;
    pi.settings.approval = Approval { button_pin: BUTTON as u8, led_pin: LED as u8, ..Approval::default() };
    pi.start();
    let faults = pi.server().get::<op::status::GetStatus>().await.unwrap().faults;
    assert_eq!(faults, ["no approval button: GPIO 17 of simulated lines: it is held by somebody else"]);
    let asked = pi.server().call::<op::asks::OpenAsk>(ask("system.reboot", kernel_update())).await.unwrap();
    assert_eq!(pi.says(&asked, true).await.unwrap().state, AskState::Approved, "everything else goes on");
    // Free again, the next agent has it, and lets go of it when it goes.
    drop(others);
    pi.restart_agent();
    assert_eq!(pi.server().get::<op::status::GetStatus>().await.unwrap().faults, [""; 0]);
    assert_eq!(pi.gpio.held(), 2);
    pi.settings.approval = Approval::default();
    pi.restart_agent();
    assert_eq!(pi.gpio.held(), 0);
}

#[tokio::test]
async fn a_line_that_fails_later_is_said_as_well() {
    let pi = pi();
    pi.gpio.fail(Some("the chip has gone"));
    let asked = pi.server().call::<op::asks::OpenAsk>(ask("system.reboot", kernel_update())).await.unwrap();
    press(&pi);
    assert_eq!(state(&pi, &asked, LONG).await.state, AskState::Pending);
    let faults = pi.server().get::<op::status::GetStatus>().await.unwrap().faults;
    assert_eq!(faults, ["the approval button on GPIO 17 is no longer watched: the chip has gone"]);
}

#[tokio::test]
async fn a_button_to_the_supply_works_the_other_way_round() {
    let mut pi = Pi::new();
    pi.settings.approval =
        Approval { button_pin: BUTTON as u8, button_active: Level::High, led_pin: LED as u8, ..Approval::default() };
    pi.start();
    // Nothing drives the line: the pull-down keeps it released.
    let asked = opened(&pi, "system.reboot", 1).await;
    pi.gpio.drive(pin(BUTTON), Some(Level::High));
    tokio::time::sleep(LONG).await;
    pi.gpio.drive(pin(BUTTON), Some(Level::Low));
    assert_eq!(state(&pi, &asked, Duration::from_secs(10)).await.state, AskState::Approved);
}

#[test]
fn a_button_may_answer_every_tool_of_today() {
    let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
    let closed: Vec<&str> =
        registry.rows().map(|entry| entry.name()).filter(|name| !::agent::answerable(name)).collect();
    assert_eq!(closed, [""; 0], "a tool that a button may not answer is named here, on purpose");
}
