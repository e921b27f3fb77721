//! What holds of serial ports on every board: one whose other end the hand has, and one with an echo at its other end.

use super::{Bench, assertions, hand::Port};
use contract::meta::Role;
use serde_json::{Value, json};

assertions! {
    serial: |hand| hand.port.is_some() =>
        what_arrives_is_read_as_it_is,
        what_is_written_leaves_as_it_is,
        a_line_is_read_up_to_its_end,
        a_port_is_one_callers_alone,
        a_caller_that_goes_away_gives_its_port_back,
        a_hang_up_ends_a_read_and_is_told,
        a_port_that_is_not_allowed_or_not_there_is_not_opened;
    |hand| hand.echo.is_some() =>
        an_echo_comes_back_whole,
        a_line_takes_its_settings;
}

fn port(bench: &Bench) -> &dyn Port {
    bench.hand.port.as_deref().expect("a board with a serial port")
}

fn at(name: &str, more: Value) -> Value {
    let mut args = json!({"port": name});
    for (key, value) in more.as_object().unwrap() {
        args[key] = value.clone();
    }
    args
}

async fn open(bench: &Bench) -> &str {
    let name = port(bench).name();
    bench.call("serial.open", at(name, json!({}))).await.ok();
    name
}

async fn what_arrives_is_read_as_it_is(bench: &Bench) {
    let name = open(bench).await;
    let all: Vec<u8> = (0..=255).collect();
    port(bench).send(&all);
    let read = bench.call("serial.read", at(name, json!({"max_bytes": 256, "timeout_ms": 5000}))).await.ok();
    assert_eq!((&read["base64"], &read["lost_bytes"]), (&json!(base::base64url::standard(&all)), &json!(0)));
}

async fn what_is_written_leaves_as_it_is(bench: &Bench) {
    let name = open(bench).await;
    let all: Vec<u8> = (0..=255).collect();
    let args = at(name, json!({"base64": base::base64url::standard(&all), "drain": true}));
    assert_eq!(bench.call("serial.write", args).await.ok()["bytes_written"], 256);
    assert_eq!(port(bench).received(256), all);
}

async fn a_line_is_read_up_to_its_end(bench: &Bench) {
    let name = open(bench).await;
    port(bench).send(b"$GPGGA,1\r\n$GPGGA,2\r\n");
    for line in ["$GPGGA,1\r\n", "$GPGGA,2\r\n"] {
        let read = bench.call("serial.read", at(name, json!({"until": "\r\n", "timeout_ms": 5000}))).await.ok();
        assert_eq!((&read["text"], &read["ended_by"]), (&json!(line), &json!("delimiter")));
    }
}

async fn a_port_is_one_callers_alone(bench: &Bench) {
    let name = open(bench).await;
    let other = bench.client("other", Role::OpsRw);
    let refusal = other.call("serial.open", at(name, json!({}))).await.refused();
    assert_eq!((&refusal["error_code"], &refusal["details"]["open_for"]), (&json!("conflict"), &json!("bench")));
    bench.call("serial.close", at(name, json!({}))).await.ok();
    other.call("serial.open", at(name, json!({}))).await.ok();
}

async fn a_caller_that_goes_away_gives_its_port_back(bench: &Bench) {
    let other = bench.client("other", Role::OpsRw);
    other.call("serial.open", at(port(bench).name(), json!({}))).await.ok();
    other.hang_up();
    let name = open(bench).await;
    port(bench).send(b"x");
    let read = bench.call("serial.read", at(name, json!({"max_bytes": 1, "timeout_ms": 5000}))).await.ok();
    assert_eq!(read["text"], "x");
}

async fn a_hang_up_ends_a_read_and_is_told(bench: &Bench) {
    let name = open(bench).await;
    port(bench).hang_up();
    let refusal = bench.call("serial.read", at(name, json!({"timeout_ms": 60_000}))).await.refused();
    assert_eq!((&refusal["error_code"], &refusal["details"]["fault"]), (&json!("unavailable"), &json!("hung_up")));
}

async fn a_port_that_is_not_allowed_or_not_there_is_not_opened(bench: &Bench) {
    for (name, code) in [("ttyS77", "permission_denied"), ("ttyS78", "capability_missing")] {
        let refusal = bench.call("serial.open", at(name, json!({}))).await.refused();
        assert_eq!(refusal["error_code"], code, "{refusal}");
    }
}

async fn an_echo_comes_back_whole(bench: &Bench) {
    let name = bench.hand.echo.as_deref().expect("a port with an echo");
    bench.call("serial.open", at(name, json!({}))).await.ok();
    let text = "The quick brown fox jumps over the lazy dog. ".repeat(20);
    bench.call("serial.write", at(name, json!({"text": text, "drain": true}))).await.ok();
    let mut back = String::new();
    while back.len() < text.len() {
        let most = text.len() - back.len();
        let read = bench.call("serial.read", at(name, json!({"max_bytes": most, "timeout_ms": 10_000}))).await.ok();
        assert!(read["bytes_read"] != 0 && read["lost_bytes"] == 0, "{read}");
        back.push_str(read["text"].as_str().unwrap());
    }
    assert_eq!(back, text);
}

async fn a_line_takes_its_settings(bench: &Bench) {
    let name = bench.hand.echo.as_deref().expect("a port with an echo");
    for settings in [
        json!({"baud": 9600, "data_bits": 7, "parity": "even", "stop_bits": 2}),
        json!({"baud": 57_600, "parity": "odd"}),
        json!({"baud": 115_200}),
    ] {
        let opened = bench.call("serial.open", at(name, settings.clone())).await.ok();
        assert_eq!(opened["line"]["baud"], settings["baud"], "{opened}");
        bench.call("serial.write", at(name, json!({"break_ms": 1}))).await.ok();
    }
}
