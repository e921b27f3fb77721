//! `gpio.set_pwm`: by hardware and by software, whose it is, and what ends it.

use super::{becomes, board, board_with, is_let_go, pin, stdio};
use crate::support::served::{Door, Pi};
use base::os::Root;
use contract::config::{Places, Settings};
use hw::{
    board::{Board, Choice},
    gpio::{GpioLines, lease::Owner, refusal::GpioRefusal},
    line::{Level, Take},
    pwm::{PwmError, SimulatedPwm, Wave},
};
use serde_json::{Value, json};
use std::sync::Arc;
use tempfile::TempDir;

fn channels(pi: &Pi) -> SimulatedPwm {
    pi.server().pipeline.services.machine.board.simulated.as_ref().unwrap().pwm.clone()
}

fn wave(frequency: f64, duty: f64) -> Wave {
    Wave::of(frequency, duty).unwrap()
}

fn pwm(pin: u8, frequency_hz: f64, duty_cycle_percent: f64) -> Value {
    json!({"pin": pin, "frequency_hz": frequency_hz, "duty_cycle_percent": duty_cycle_percent})
}

#[tokio::test]
async fn a_pin_with_a_channel_has_it_by_hardware_and_changes_without_a_gap() {
    let (pi, lines) = board().await;
    let (mut wire, channels) = (stdio(&pi).await, channels(&pi));
    let set = wire.call("gpio.set_pwm", pwm(18, 1000.0, 25.0)).await;
    assert_eq!((&set.meta()["simulated"], &set.meta()["changed"]), (&json!(true), &json!(true)));
    let set = set.ok();
    assert_eq!((&set["source"], &set["jitter"], &set["pin"]), (&json!("hardware"), &json!("hardware"), &json!(18)));
    assert_eq!((&set["frequency_hz"], &set["duty_cycle_percent"]), (&json!(1000.0), &json!(25.0)));
    assert_eq!(set["channel"], json!({"chip": "simulated.pwm", "channel": 0}));
    assert_eq!(set["requested"], json!({"frequency_hz": 1000.0, "duty_cycle_percent": 25.0}));
    assert!(set["timestamp"].is_string() && set.get("reason").is_none() && set.get("expires_at").is_none(), "{set}");
    assert_eq!(channels.wave(0), Some(wave(1000.0, 25.0)));
    assert_eq!(lines.held(), 0, "hardware needs no line");
    // The bare method is the same call, and a servo wants 50 Hz.
    let bare = wire.request("gpio.set_pwm", pwm(18, 50.0, 7.5)).await;
    assert_eq!(bare.result()["frequency_hz"], 50.0);
    assert_eq!((channels.wave(0), channels.taken()), (Some(wave(50.0, 7.5)), 1));
    // Everybody sees it.
    let seen = pi.call("gpio.read_pin", json!({"pin": 18})).await;
    assert_eq!((&seen.ok()["mode"], &seen.ok()["pwm"]["duty_cycle_percent"]), (&json!("output"), &json!(7.5)));
    let all = wire.call("gpio.list_pins", json!({})).await;
    let listed = all.ok()["pins"].as_array().unwrap().iter().find(|entry| entry["pin"] == 18).unwrap();
    assert_eq!((&listed["pwm"]["source"], &listed["lease"]["yours"]), (&json!("hardware"), &json!(true)));
    let released = wire.call("gpio.release_pin", json!({"pin": 18})).await;
    assert!(released.ok().get("pwm").is_none() && released.ok().get("lease").is_none());
    assert_eq!(channels.taken(), 0);
}

#[tokio::test]
async fn a_pin_without_one_has_it_by_software_and_says_why_and_what_it_achieves() {
    let (pi, lines) = board().await;
    let mut wire = stdio(&pi).await;
    let mut seen = Vec::new();
    // A busy machine disturbs one measurement or another, and not ten of them: far from exact, and far from another wave.
    let near = loop {
        let set = wire.call("gpio.set_pwm", pwm(17, 100.0, 30.0)).await;
        let set = set.ok();
        assert_eq!(set["source"], "software");
        assert_eq!(set["reason"], "GPIO 17 has no hardware PWM, GPIO 12, 13, 18 and 19 have");
        assert!(["low", "medium", "high"].contains(&set["jitter"].as_str().unwrap()), "{set}");
        assert!(set["measured"]["latest_edge_us"].as_f64().unwrap() > 0.0, "{set}");
        let (frequency, duty) = (set["frequency_hz"].as_f64().unwrap(), set["duty_cycle_percent"].as_f64().unwrap());
        seen.push((frequency, duty));
        let near = (60.0..=105.0).contains(&frequency) && (15.0..=50.0).contains(&duty);
        if near || seen.len() == 10 {
            break near;
        }
        wire.call("gpio.release_pin", json!({"pin": 17})).await.ok();
    };
    assert!(near, "frequencies in Hz and duties in %: {seen:?}");
    assert_eq!(lines.consumer(pin(17)).as_deref(), Some("raspi-mcp"));
    becomes(&lines, 17, Level::High).await;
    becomes(&lines, 17, Level::Low).await;
    // The ends of the scale are levels, at any frequency.
    for (percent, level) in [(100.0, Level::High), (0.0, Level::Low), (100.0, Level::High)] {
        let set = wire.call("gpio.set_pwm", pwm(17, 50_000.0, percent)).await;
        assert_eq!((&set.ok()["duty_cycle_percent"], &set.ok()["jitter"]), (&json!(percent), &json!("low")));
        assert_eq!(lines.level(pin(17)), level);
    }
    wire.call("gpio.release_pin", json!({"pin": 17})).await.ok();
    assert_eq!((lines.level(pin(17)), lines.held()), (Level::Low, 0));
}

#[tokio::test]
async fn what_software_cannot_make_is_refused_and_runs_on_as_it_was() {
    let (pi, lines) = board().await;
    let mut wire = stdio(&pi).await;
    let refused = wire.call("gpio.set_pwm", pwm(17, 2001.0, 50.0)).await;
    let refused = refused.failed("failed_precondition");
    assert_eq!(refused["details"], json!({"max_frequency_hz": 2000.0, "pin": 17}));
    assert!(refused["message"].as_str().unwrap().contains("GPIO 12, 13, 18 and 19 have"), "{refused}");
    assert_eq!(lines.held(), 0);
    wire.call("gpio.set_pwm", pwm(17, 2000.0, 50.0)).await.ok();
    wire.call("gpio.set_pwm", pwm(17, 50_000.0, 50.0)).await.failed("failed_precondition");
    let seen = wire.call("gpio.read_pin", json!({"pin": 17})).await;
    assert_eq!(seen.ok()["pwm"]["source"], "software");
    // A pin that is not routed to its channel says how it would be.
    channels(&pi).route_to(pin(12), false);
    let unrouted = wire.call("gpio.set_pwm", pwm(12, 5000.0, 50.0)).await;
    let unrouted = unrouted.failed("failed_precondition");
    assert!(unrouted["message"].as_str().unwrap().contains("GPIO 12 is a plain GPIO now and not PWM0"), "{unrouted}");
    assert!(!unrouted["hint"].as_str().unwrap().is_empty());
    let slower = wire.call("gpio.set_pwm", pwm(12, 500.0, 50.0)).await;
    assert_eq!((&slower.ok()["source"], slower.ok()["remedy"].is_string()), (&json!("software"), true));
}

#[tokio::test]
async fn four_pins_have_threads_and_a_fifth_waits_its_turn() {
    let (pi, lines) = board().await;
    let mut wire = stdio(&pi).await;
    for number in [4, 5, 6, 16] {
        wire.call("gpio.set_pwm", pwm(number, 200.0, 50.0)).await.ok();
    }
    assert_eq!(threads(), 4);
    let fifth = wire.call("gpio.set_pwm", pwm(17, 200.0, 50.0)).await;
    assert_eq!(fifth.failed("resource_exhausted")["details"]["limit"], 4);
    assert_eq!(lines.consumer(pin(17)), None, "a refusal takes nothing");
    // Hardware is not counted, and a thread that ends makes room.
    wire.call("gpio.set_pwm", pwm(13, 200.0, 50.0)).await.ok();
    wire.call("gpio.release_pin", json!({"pin": 5})).await.ok();
    wire.call("gpio.set_pwm", pwm(17, 200.0, 50.0)).await.ok();
    drop(wire);
    for number in [4, 6, 16, 17] {
        is_let_go(&lines, number).await;
    }
    assert_eq!((threads(), channels(&pi).taken()), (0, 0), "a connection that ends takes its waves with it");
}

/// Threads of this process that make waves on pins that no other test makes waves on.
fn threads() -> usize {
    let ours = ["pwm-gpio4", "pwm-gpio5", "pwm-gpio6", "pwm-gpio16"];
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.filter(|name| ours.contains(&name.trim())).count()
}

#[tokio::test]
async fn two_pins_of_one_channel_make_one_wave() {
    let (pi, _) = board().await;
    let (mut wire, channels) = (stdio(&pi).await, channels(&pi));
    wire.call("gpio.set_pwm", pwm(12, 1000.0, 50.0)).await.ok();
    let refused = wire.call("gpio.set_pwm", pwm(18, 50.0, 7.5)).await;
    let refused = refused.failed("failed_precondition");
    assert_eq!(refused["message"], "GPIO 18: it shares channel 0 of simulated.pwm with GPIO 12, which runs");
    assert_eq!(channels.wave(0), Some(wave(1000.0, 50.0)));
    wire.call("gpio.set_pwm", pwm(19, 50.0, 7.5)).await.ok();
    wire.call("gpio.release_pin", json!({"pin": 12})).await.ok();
    wire.call("gpio.set_pwm", pwm(18, 50.0, 7.5)).await.ok();
    assert_eq!((channels.wave(0), channels.wave(1)), (Some(wave(50.0, 7.5)), Some(wave(50.0, 7.5))));
}

#[tokio::test]
async fn a_channel_that_is_not_ours_or_fails_is_told() {
    let (pi, lines) = board().await;
    let (mut wire, channels) = (stdio(&pi).await, channels(&pi));
    channels.take_away(0, true);
    let busy = wire.call("gpio.set_pwm", pwm(18, 50.0, 5.0)).await;
    let told = busy.failed("failed_precondition")["message"].as_str().unwrap();
    assert!(told.contains("in use: another program has exported it"), "{told}");
    channels.take_away(0, false);
    channels.fail(Some("the clock stands still"));
    let failed = wire.call("gpio.set_pwm", pwm(18, 50.0, 5.0)).await;
    assert!(failed.failed("unavailable")["message"].as_str().unwrap().contains("the clock stands still"));
    assert_eq!((channels.taken(), lines.held()), (0, 0));
    channels.fail(None);
    wire.call("gpio.set_pwm", pwm(18, 50.0, 5.0)).await.ok();
}

#[tokio::test]
async fn a_wave_is_its_owners_and_ends_by_what_the_owner_makes_of_the_pin() {
    let (pi, lines) = board().await;
    let (mut owner, mut other, channels) = (stdio(&pi).await, pi.on(Door::Ws).await, channels(&pi));
    for number in [17, 18] {
        owner.call("gpio.set_pwm", pwm(number, 400.0, 50.0)).await.ok();
        for (tool, args) in [
            ("gpio.set_pwm", pwm(number, 400.0, 0.0)),
            ("gpio.write_pin", json!({"pin": number, "value": 0})),
            ("gpio.configure_pin", json!({"pin": number, "mode": "input"})),
            ("gpio.release_pin", json!({"pin": number})),
        ] {
            assert_eq!(other.call(tool, args).await.failed("conflict")["details"]["lent_to"], "stdio", "{tool}");
        }
        other.call("gpio.wait_for_edge", json!({"pin": number, "timeout_ms": 10})).await.failed("failed_precondition");
        assert!(other.call("gpio.read_pin", json!({"pin": number})).await.ok()["pwm"].is_object());
        // Written, it is an output like any other; there is no level from before.
        let written = owner.call("gpio.write_pin", json!({"pin": number, "value": 1})).await;
        assert!(written.ok().get("previous_value").is_none());
        assert_eq!(lines.level(pin(number.into())), Level::High);
        let seen = owner.call("gpio.read_pin", json!({"pin": number})).await;
        assert_eq!((seen.ok().get("pwm"), &seen.ok()["value"]), (None, &json!("high")));
        assert_eq!(channels.taken(), 0);
    }
    // Held as a plain GPIO, it has no hardware any more; and a wave follows on the level without letting go of the line.
    let again = owner.call("gpio.set_pwm", pwm(18, 400.0, 50.0)).await;
    assert_eq!(again.ok()["source"], "software");
    assert!(again.ok()["reason"].as_str().unwrap().contains("held as a plain GPIO here"));
    let input = owner.call("gpio.configure_pin", json!({"pin": 18, "mode": "input"})).await;
    assert_eq!((&input.ok()["mode"], input.ok().get("pwm")), (&json!("input"), None));
}

#[tokio::test]
async fn a_pulse_on_a_wave_ends_the_lease() {
    let (pi, lines) = board().await;
    let mut wire = stdio(&pi).await;
    wire.call("gpio.set_pwm", pwm(17, 400.0, 50.0)).await.ok();
    wire.call("gpio.write_pin", json!({"pin": 17, "value": 1, "duration_ms": 5})).await.ok();
    is_let_go(&lines, 17).await;
    assert_eq!(lines.level(pin(17)), Level::Low);
}

#[tokio::test]
async fn a_wave_leaves_its_pin_in_the_safe_state() {
    let (pi, lines) = board_with(|settings| settings.gpio.safe_high = [17].into()).await;
    let mut wire = stdio(&pi).await;
    wire.call("gpio.set_pwm", pwm(17, 100.0, 1.0)).await.ok();
    wire.call("gpio.set_pwm", pwm(18, 100.0, 1.0)).await.ok();
    let channels = channels(&pi);
    drop(wire);
    becomes(&lines, 17, Level::High).await;
    let mut wire = stdio(&pi).await;
    wire.call("gpio.set_pwm", pwm(17, 100.0, 1.0)).await.ok();
    wire.call("gpio.set_pwm", pwm(18, 100.0, 1.0)).await.ok();
    pi.stop().await.unwrap();
    assert_eq!((lines.level(pin(17)), lines.held(), channels.taken()), (Level::High, 0, 0));
}

#[tokio::test]
async fn what_is_no_wave_changes_nothing() {
    let (pi, lines) = board().await;
    let mut wire = stdio(&pi).await;
    let with = |field: &str, value: Value| {
        let mut args = pwm(17, 100.0, 50.0);
        args[field] = value;
        args
    };
    for field in ["frequency_hz", "duty_cycle_percent"] {
        for wrong in
            [json!("50"), json!(null), json!(true), json!([50]), json!({}), json!(-1), json!(-1e308), json!(1e308)]
        {
            wire.call("gpio.set_pwm", with(field, wrong)).await.refused(&format!("/{field}"));
        }
    }
    for (field, wrong) in [
        ("frequency_hz", json!(0)),
        ("frequency_hz", json!(0.999_999)),
        ("frequency_hz", json!(50_000.001)),
        ("duty_cycle_percent", json!(100.000_001)),
        ("duty_cycle_percent", json!(-5e-324)),
        ("pin", json!(28)),
        ("pin", json!(17.5)),
        ("pin", json!("17")),
        ("lease_seconds", json!(0)),
        ("lease_seconds", json!(3601)),
    ] {
        wire.call("gpio.set_pwm", with(field, wrong)).await.refused(&format!("/{field}"));
    }
    wire.call("gpio.set_pwm", json!({"pin": 17, "frequency_hz": 100})).await.failed("invalid_argument");
    // No number of JSON: the front door does not take the message.
    for (text, code) in [("NaN", -32700), ("Infinity", -32700), ("0x10", -32700), ("1e400", -32602)] {
        let args = format!(r#"{{"pin":17,"frequency_hz":{text},"duty_cycle_percent":50}}"#);
        wire.raw(format!(
            r#"{{"jsonrpc":"2.0","id":"odd","method":"tools/call","params":{{"name":"gpio.set_pwm","arguments":{args}}}}}"#
        ));
        wire.answer().await.fault(code);
    }
    for number in [0, 1] {
        wire.call("gpio.set_pwm", pwm(number, 100.0, 50.0)).await.failed("permission_denied");
    }
    assert_eq!((lines.held(), channels(&pi).taken()), (0, 0));
    // The edges of what is allowed.
    for (frequency, duty) in [(1.0, 0.0), (50_000.0, 100.0), (50_000.0, 0.001), (1.0, 99.999)] {
        wire.call("gpio.set_pwm", pwm(18, frequency, duty)).await.ok();
    }
}

#[tokio::test]
async fn over_http_a_wave_runs_as_long_as_its_lease() {
    let (pi, _) = board().await;
    let mut wire = pi.on(Door::Http).await;
    let args = json!({"pin": 18, "frequency_hz": 100, "duty_cycle_percent": 50, "lease_seconds": 1});
    assert!(wire.call("gpio.set_pwm", args).await.ok()["expires_at"].is_string());
    let channels = channels(&pi);
    crate::support::served::soon(async {
        while channels.taken() > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// A server's lines, on a board that outlives it.
struct Desk {
    board: Board,
    settings: Settings,
    _root: TempDir,
}

impl Desk {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        let settings = Settings::default_for(&Places::below(root.path()));
        let board = Board::detect(Choice::Simulated, &Root::system()).unwrap();
        Self { board, settings, _root: root }
    }

    fn server(&self) -> Arc<GpioLines> {
        GpioLines::new(
            &self.settings.gpio,
            Default::default(),
            &Root::system(),
            &self.board.pins(),
            &self.settings.places,
        )
    }

    fn channels(&self) -> &SimulatedPwm {
        &self.board.simulated.as_ref().unwrap().pwm
    }
}

fn owner(principal: &str) -> Owner {
    Owner { principal: principal.into(), name: None, presence: None, pass: None }
}

#[tokio::test]
async fn what_a_killed_server_let_run_is_stopped_by_the_next_one_which_says_so() {
    let desk = Desk::new();
    let killed = desk.server();
    killed.begin();
    for number in [13, 18] {
        killed.set_pwm(&owner("a"), pin(number), wave(50.0, 7.5), None).await.unwrap();
    }
    killed.release(&owner("a"), pin(13), false).unwrap();
    assert_eq!(desk.channels().wave(0), Some(wave(50.0, 7.5)));
    // The kernel lets it run on; what the process would have done at its end does not happen.
    std::mem::forget(killed);
    let next = desk.server();
    next.begin();
    assert_eq!((desk.channels().wave(0), next.recovered()), (None, vec![pin(18)]));
    // It can have it again; and after a stop nothing is left to put right.
    next.set_pwm(&owner("a"), pin(18), wave(100.0, 50.0), None).await.unwrap();
    next.end();
    assert_eq!(desk.channels().taken(), 0);
    let third = desk.server();
    third.begin();
    assert!(third.recovered().is_empty());
}

#[tokio::test]
async fn a_channel_that_was_never_had_is_not_in_the_record() {
    let desk = Desk::new();
    let lines = desk.server();
    desk.channels().take_away(0, true);
    let refused = lines.set_pwm(&owner("a"), pin(18), wave(50.0, 7.5), None).await;
    assert!(matches!(refused, Err(GpioRefusal::Pwm { fault: PwmError::Busy(_), .. })), "{refused:?}");
    std::mem::forget(lines);
    let next = desk.server();
    next.begin();
    assert!(next.recovered().is_empty());
    assert_eq!(desk.channels().taken(), 1, "somebody else's goes on");
}

#[tokio::test]
async fn what_is_lent_meanwhile_is_not_taken_over() {
    let desk = Desk::new();
    let lines = desk.server();
    lines.configure(&owner("b"), pin(18), Take::Output { level: Level::High }, None).unwrap();
    let refused = lines.set_pwm(&owner("a"), pin(18), wave(50.0, 7.5), None).await;
    assert!(matches!(refused, Err(GpioRefusal::Lent { to, .. }) if to == "b"));
    assert_eq!(desk.channels().taken(), 0);
}
