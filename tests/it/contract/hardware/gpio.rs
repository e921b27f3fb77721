//! What holds of pins, edges and leases on every board.

use super::{Bench, assertions, hand::Lines};
use contract::meta::Role;
use hw::model::BoardKind;
use serde_json::{Value, json};
use std::{fs, time::Duration};

assertions! {
    gpio: |hand| hand.lines.is_some() =>
        the_chip_of_the_header_is_named,
        what_is_written_is_on_the_line_and_is_read_back,
        a_first_write_makes_an_output_and_a_later_one_says_what_was_before,
        a_released_output_is_driven_no_longer,
        a_pin_with_a_safe_level_has_it_whenever_nobody_uses_it,
        a_level_with_a_duration_is_taken_back_though_its_client_has_gone,
        a_repetition_outlives_its_client_and_ends_in_the_safe_state,
        a_pin_is_one_clients_at_a_time,
        a_client_that_hangs_up_leaves_its_pins,
        a_line_that_another_process_holds_is_left_to_it_by_name,
        others_see_who_holds_a_line,
        no_edge_in_time_is_no_error,
        many_uses_leak_no_descriptor;
    |hand| hand.lines.as_ref().is_some_and(|lines| lines.can_drive()) =>
        an_input_reads_what_is_outside,
        an_edge_is_told_with_the_kernels_time,
        only_the_edge_that_was_asked_for_counts,
        edges_from_before_the_wait_do_not_count;
    |hand| hand.lines.as_ref().is_some_and(|lines| lines.forbidden().is_some()) =>
        a_pin_that_is_not_allowed_is_not_touched;
    |hand| hand.lines.as_ref().is_some_and(|lines| lines.can_pull()) =>
        an_open_input_reads_its_pull;
    |hand| hand.lines.as_ref().is_some_and(|lines| !lines.functions().is_empty()) =>
        a_pin_with_another_function_says_which,
        a_pin_that_nobody_holds_is_read_without_being_touched;
}

fn lines(bench: &Bench) -> &dyn Lines {
    bench.hand.lines.as_deref().expect("a board with lines")
}

async fn written(bench: &Bench, pin: u8, value: &str) -> Value {
    bench.call("gpio.write_pin", json!({"pin": pin, "value": value})).await.ok()
}

async fn read(bench: &Bench, pin: u8) -> Value {
    bench.call("gpio.read_pin", json!({"pin": pin})).await.ok()
}

async fn listed(bench: &Bench, pin: u8) -> Value {
    let list = bench.call("gpio.list_pins", json!({"all": true})).await.ok();
    list["pins"].as_array().unwrap().iter().find(|entry| entry["pin"] == pin).unwrap().clone()
}

async fn input(bench: &Bench, pin: u8) {
    bench.call("gpio.configure_pin", json!({"pin": pin, "mode": "input"})).await.ok();
}

/// What the meter shows, where it shows anything.
#[track_caller]
fn shows(bench: &Bench, pin: u8, high: bool) {
    if let Some(level) = lines(bench).level(pin) {
        assert_eq!(level, high, "GPIO {pin} from outside");
    }
}

async fn the_chip_of_the_header_is_named(bench: &Bench) {
    let list = bench.call("gpio.list_pins", json!({})).await.ok();
    assert!(!list["chip"].as_str().unwrap().is_empty());
    assert_eq!(list["recovered"], Value::Null);
    let pins: Vec<u64> = list["pins"].as_array().unwrap().iter().map(|entry| entry["pin"].as_u64().unwrap()).collect();
    assert!(lines(bench).free().iter().all(|pin| pins.contains(&(*pin).into())), "{pins:?}");
    assert!(lines(bench).forbidden().is_none_or(|pin| !pins.contains(&pin.into())), "{pins:?}");
}

async fn what_is_written_is_on_the_line_and_is_read_back(bench: &Bench) {
    for pin in lines(bench).free() {
        for (value, high) in [("high", true), ("low", false), ("high", true)] {
            written(bench, *pin, value).await;
            shows(bench, *pin, high);
            let read = read(bench, *pin).await;
            assert_eq!((&read["mode"], &read["value"]), (&json!("output"), &json!(value)), "{read}");
        }
    }
}

async fn a_first_write_makes_an_output_and_a_later_one_says_what_was_before(bench: &Bench) {
    let pin = lines(bench).free()[0];
    let first = bench.call("gpio.write_pin", json!({"pin": pin, "value": 1})).await;
    assert!(first.changed);
    let first = first.ok();
    assert_eq!((&first["value"], first.get("previous_value")), (&json!(1), None));
    let second = bench.call("gpio.write_pin", json!({"pin": pin, "value": 0})).await.ok();
    assert_eq!((&second["value"], &second["previous_value"]), (&json!(0), &json!(1)));
}

async fn a_released_output_is_driven_no_longer(bench: &Bench) {
    let pin = lines(bench).free()[0];
    written(bench, pin, "high").await;
    bench.call("gpio.release_pin", json!({"pin": pin})).await.ok();
    let entry = listed(bench, pin).await;
    assert_eq!((entry.get("lease"), entry.get("consumer")), (None, None), "{entry}");
    assert_ne!(entry["mode"], "output", "{entry}");
    // Nobody drives it: it follows whoever does now.
    if lines(bench).can_drive() {
        for high in [true, false] {
            lines(bench).drive(pin, high);
            shows(bench, pin, high);
        }
        lines(bench).let_go(pin);
    }
    assert!(!bench.call("gpio.release_pin", json!({"pin": pin})).await.changed);
}

async fn a_pin_with_a_safe_level_has_it_whenever_nobody_uses_it(bench: &Bench) {
    let pin = lines(bench).safe_high();
    shows(bench, pin, true);
    let entry = listed(bench, pin).await;
    assert_eq!((&entry["safe_state"], &entry["mode"]), (&json!("high"), &json!("output")), "{entry}");
    written(bench, pin, "low").await;
    shows(bench, pin, false);
    bench.call("gpio.release_pin", json!({"pin": pin})).await.ok();
    shows(bench, pin, true);
    assert_eq!(read(bench, pin).await["value"], "high");
}

async fn a_level_with_a_duration_is_taken_back_though_its_client_has_gone(bench: &Bench) {
    let pin = lines(bench).safe_high();
    let ann = bench.over_http("ann", Role::OpsRw);
    let wrote = ann.call("gpio.write_pin", json!({"pin": pin, "value": "low", "duration_ms": 100})).await.ok();
    assert_eq!(wrote["reverts_to"], "high", "{wrote}");
    drop(ann);
    let taken_back = async {
        while read(bench, pin).await["value"] == "low" {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), taken_back).await.expect("it is taken back");
    shows(bench, pin, true);
}

async fn a_repetition_outlives_its_client_and_ends_in_the_safe_state(bench: &Bench) {
    let pin = lines(bench).safe_high();
    let ann = bench.client("ann", Role::OpsRw);
    let wrote =
        ann.call("gpio.write_pin", json!({"pin": pin, "value": "low", "repeat": 2, "interval_ms": 1000})).await.ok();
    assert_eq!((&wrote["reverts_to"], &wrote["held_by"]), (&json!("high"), &json!("schedule")), "{wrote}");
    assert_eq!(wrote["expires_at"], wrote["reverts_at"], "{wrote}");
    ann.hang_up();
    let refused = bench.call("gpio.write_pin", json!({"pin": pin, "value": "low"})).await.refused();
    assert_eq!((&refused["error_code"], &refused["details"]["lent_to"]), (&json!("conflict"), &json!("ann")));
    let mut seen = Vec::new();
    let over = async {
        loop {
            let entry = read(bench, pin).await;
            let level = entry["value"].clone();
            if seen.last() != Some(&level) {
                seen.push(level);
            }
            if entry.get("lease").is_none() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), over).await.expect("it ends by itself");
    // An emulated processor may miss a change between two looks, but neither of the levels.
    assert!(seen.len() >= 2 && seen.last() == Some(&json!("high")), "{seen:?}");
    shows(bench, pin, true);
}

async fn a_pin_is_one_clients_at_a_time(bench: &Bench) {
    let pin = lines(bench).free()[0];
    let (ann, bob) = (bench.client("ann", Role::OpsRw), bench.client("bob", Role::OpsRw));
    ann.call("gpio.write_pin", json!({"pin": pin, "value": "high"})).await.ok();
    for (tool, args) in [
        ("gpio.write_pin", json!({"pin": pin, "value": "low"})),
        ("gpio.configure_pin", json!({"pin": pin, "mode": "input"})),
        ("gpio.release_pin", json!({"pin": pin})),
    ] {
        let refused = bob.call(tool, args).await.refused();
        assert_eq!(
            (&refused["error_code"], &refused["details"]["lent_to"]),
            (&json!("conflict"), &json!("ann")),
            "{tool}"
        );
        shows(bench, pin, true);
    }
    // Looking is free.
    assert_eq!(bob.call("gpio.read_pin", json!({"pin": pin})).await.ok()["value"], "high");
    ann.call("gpio.release_pin", json!({"pin": pin})).await.ok();
    bob.call("gpio.write_pin", json!({"pin": pin, "value": "low"})).await.ok();
}

async fn a_client_that_hangs_up_leaves_its_pins(bench: &Bench) {
    let (pin, safe) = (lines(bench).free()[0], lines(bench).safe_high());
    let ann = bench.client("ann", Role::OpsRw);
    ann.call("gpio.write_pin", json!({"pin": pin, "value": "high"})).await.ok();
    ann.call("gpio.write_pin", json!({"pin": safe, "value": "low"})).await.ok();
    ann.hang_up();
    shows(bench, safe, true);
    let entry = listed(bench, pin).await;
    assert_eq!((entry.get("lease"), entry.get("consumer")), (None, None), "{entry}");
    // What is still on its way when the connection ends takes nothing any more.
    let late = ann.call("gpio.write_pin", json!({"pin": pin, "value": "high"})).await.refused();
    assert_eq!(late["error_code"], "cancelled");
    written(bench, pin, "low").await;
}

async fn a_line_that_another_process_holds_is_left_to_it_by_name(bench: &Bench) {
    let pin = lines(bench).free()[0];
    let held = lines(bench).hold(pin, "the other one");
    let attempts = [
        ("gpio.write_pin", json!({"pin": pin, "value": "high"})),
        ("gpio.configure_pin", json!({"pin": pin, "mode": "input"})),
        ("gpio.wait_for_edge", json!({"pin": pin, "timeout_ms": 1000})),
    ];
    for (tool, args) in attempts {
        let refused = bench.call(tool, args).await.refused();
        assert_eq!(refused["error_code"], "failed_precondition", "{tool}: {refused}");
        assert_eq!(refused["details"]["consumer"], "the other one", "{tool}: {refused}");
    }
    assert_eq!(listed(bench, pin).await["consumer"], "the other one");
    drop(held);
    written(bench, pin, "high").await;
    shows(bench, pin, true);
}

async fn others_see_who_holds_a_line(bench: &Bench) {
    let pin = lines(bench).free()[0];
    written(bench, pin, "high").await;
    let entry = listed(bench, pin).await;
    assert_eq!((&entry["lease"]["principal"], &entry["lease"]["yours"]), (&json!("bench"), &json!(true)), "{entry}");
    let ann = bench.client("ann", Role::ReadOnly);
    let seen = ann.call("gpio.read_pin", json!({"pin": pin})).await.ok();
    assert_eq!((&seen["lease"]["principal"], &seen["lease"]["yours"]), (&json!("bench"), &json!(false)), "{seen}");
}

async fn a_pin_that_is_not_allowed_is_not_touched(bench: &Bench) {
    for pin in [lines(bench).forbidden().expect("a pin that may be tried"), 0, 1] {
        let before = listed(bench, pin).await;
        for (tool, verb, args) in [
            ("gpio.write_pin", "write", json!({"pin": pin, "value": "high"})),
            ("gpio.configure_pin", "write", json!({"pin": pin, "mode": "output"})),
            ("gpio.read_pin", "read", json!({"pin": pin})),
            ("gpio.wait_for_edge", "read", json!({"pin": pin, "timeout_ms": 1})),
        ] {
            let refused = bench.call(tool, args).await.refused();
            assert_eq!(refused["error_code"], "permission_denied", "{tool} {pin}: {refused}");
            let needed = refused["details"]["required_permission"].as_str().unwrap();
            assert!(needed.starts_with("gpio:") && needed.ends_with(&format!(":{pin}")), "{tool}, {verb}: {needed}");
        }
        assert_eq!(listed(bench, pin).await, before);
    }
}

async fn no_edge_in_time_is_no_error(bench: &Bench) {
    let pin = lines(bench).free()[0];
    input(bench, pin).await;
    let waited = bench.call("gpio.wait_for_edge", json!({"pin": pin, "timeout_ms": 20})).await.ok();
    assert_eq!(waited["edge"], Value::Null, "{waited}");
    assert!(waited["waited_ms"].as_u64().unwrap() >= 20, "{waited}");
}

async fn many_uses_leak_no_descriptor(bench: &Bench) {
    // An emulated processor takes a hundred times as long; TURNS=5000 has it all the same.
    let usual = if bench.hand.kind == BoardKind::Simulated { 5000 } else { 100 };
    let turns = std::env::var("TURNS").map_or(usual, |turns| turns.parse().expect("a number of turns"));
    let pin = lines(bench).free()[0];
    let open = || fs::read_dir("/proc/self/fd").unwrap().count();
    input(bench, pin).await;
    bench.call("gpio.release_pin", json!({"pin": pin})).await.ok();
    let before = open();
    for turn in 0..turns {
        let level = if turn % 2 == 0 { "high" } else { "low" };
        bench.call("gpio.configure_pin", json!({"pin": pin, "mode": "output", "value": level})).await.ok();
        bench.call("gpio.release_pin", json!({"pin": pin})).await.ok();
        input(bench, pin).await;
        bench.call("gpio.release_pin", json!({"pin": pin})).await.ok();
    }
    // Other tests of the same process open and close theirs meanwhile.
    assert!(open() < before + turns / 5, "{} descriptors, {before} before", open());
}

async fn an_input_reads_what_is_outside(bench: &Bench) {
    for pin in lines(bench).free() {
        input(bench, *pin).await;
        for (high, value) in [(true, "high"), (false, "low"), (true, "high")] {
            lines(bench).drive(*pin, high);
            assert_eq!(read(bench, *pin).await["value"], value, "GPIO {pin}");
        }
        lines(bench).let_go(*pin);
    }
}

async fn an_edge_is_told_with_the_kernels_time(bench: &Bench) {
    let pin = lines(bench).free()[1];
    lines(bench).drive(pin, false);
    input(bench, pin).await;
    let before = monotonic_ns();
    // The wait begins before the other half of the join runs: both are on one thread.
    let (waited, ()) =
        tokio::join!(bench.call("gpio.wait_for_edge", json!({"pin": pin, "timeout_ms": 20_000})), async {
            lines(bench).drive(pin, true);
        });
    let waited = waited.ok();
    assert_eq!((&waited["edge"], &waited["value"]), (&json!("rising"), &json!("high")), "{waited}");
    let at = waited["monotonic_ns"].as_u64().unwrap();
    assert!((before..=monotonic_ns()).contains(&at), "{at} is not within the wait that began at {before}");
    assert!(waited["timestamp"].is_string(), "{waited}");
    lines(bench).let_go(pin);
}

async fn only_the_edge_that_was_asked_for_counts(bench: &Bench) {
    let pin = lines(bench).free()[1];
    lines(bench).drive(pin, false);
    input(bench, pin).await;
    let args = json!({"pin": pin, "edge": "falling", "timeout_ms": 20_000});
    let (waited, ()) = tokio::join!(bench.call("gpio.wait_for_edge", args), async {
        lines(bench).drive(pin, true);
        tokio::task::yield_now().await;
        lines(bench).drive(pin, false);
    });
    assert_eq!(waited.ok()["edge"], "falling");
    lines(bench).let_go(pin);
}

async fn edges_from_before_the_wait_do_not_count(bench: &Bench) {
    let pin = lines(bench).free()[2];
    input(bench, pin).await;
    for high in [true, false, true, false] {
        lines(bench).drive(pin, high);
    }
    let waited = bench.call("gpio.wait_for_edge", json!({"pin": pin, "timeout_ms": 20})).await.ok();
    assert_eq!(waited["edge"], Value::Null, "{waited}");
    lines(bench).let_go(pin);
}

async fn an_open_input_reads_its_pull(bench: &Bench) {
    let pin = lines(bench).free()[3];
    lines(bench).let_go(pin);
    for (pull, value) in [("up", "high"), ("down", "low"), ("up", "high"), ("down", "low")] {
        bench.call("gpio.configure_pin", json!({"pin": pin, "mode": "input", "pull": pull})).await.ok();
        let read = read(bench, pin).await;
        assert_eq!((&read["value"], &read["pull"]), (&json!(value), &json!(pull)), "{read}");
    }
}

async fn a_pin_with_another_function_says_which(bench: &Bench) {
    for (pin, function) in lines(bench).functions().iter().copied() {
        let entry = listed(bench, pin).await;
        assert_eq!((&entry["mode"], &entry["function"]), (&json!("alt"), &json!(function)), "{entry}");
        // It is somebody's, though nobody holds the line.
        let refused = bench.call("gpio.write_pin", json!({"pin": pin, "value": "high"})).await.refused();
        assert_eq!(refused["error_code"], "failed_precondition", "{refused}");
        assert_eq!(listed(bench, pin).await, entry);
    }
}

async fn a_pin_that_nobody_holds_is_read_without_being_touched(bench: &Bench) {
    let pin = lines(bench).functions()[0].0;
    let before = listed(bench, pin).await;
    assert!(["high", "low"].contains(&read(bench, pin).await["value"].as_str().unwrap()));
    let after = listed(bench, pin).await;
    assert_eq!((&before["mode"], &before["function"]), (&after["mode"], &after["function"]));
}

/// By the clock that the kernel stamps edges with.
fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap()
}
