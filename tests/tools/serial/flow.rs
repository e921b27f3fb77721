//! A full buffer: bytes are lost and counted, or with flow control the other end is stopped. A line that takes nothing.

use super::Scene;
use crate::support::served::Door;
use hw::serial::simulated::LOOPBACK;
use serde_json::json;

const BUFFER: usize = 64 * 1024;

/// Sends so many bytes of text from outside, while calls empty the line's own buffer into the server's.
async fn feed(scene: &mut Scene, mut count: usize) {
    let chunk = vec![b'x'; 1000];
    while count > 0 {
        count -= scene.ports.feed(LOOPBACK, &chunk[..count.min(1000)]);
        tokio::task::yield_now().await;
    }
}

async fn waiting(scene: &mut Scene) -> (u64, u64) {
    let port = scene.ok("serial.list_ports", json!({"port": LOOPBACK})).await["ports"][0]["open"].clone();
    (port["received_bytes"].as_u64().unwrap(), port["waiting_bytes"].as_u64().unwrap())
}

#[tokio::test]
async fn the_oldest_make_room_and_are_counted_and_memory_is_bounded() {
    let mut scene = Scene::new().await;
    scene.open(LOOPBACK).await;
    feed(&mut scene, BUFFER + 10).await;
    while waiting(&mut scene).await.0 < BUFFER as u64 + 10 {}
    assert_eq!(waiting(&mut scene).await.1, BUFFER as u64);
    let read = scene.ok("serial.read", json!({"port": LOOPBACK, "max_bytes": 65_536})).await;
    assert_eq!((&read["lost_bytes"], &read["bytes_read"]), (&json!(10), &json!(BUFFER)));
    feed(&mut scene, 1).await;
    let read = scene.ok("serial.read", json!({"port": LOOPBACK})).await;
    assert_eq!((&read["lost_bytes"], &read["bytes_read"]), (&json!(0), &json!(1)), "counted once");
}

#[tokio::test]
async fn with_flow_control_the_other_end_waits_and_nothing_is_lost() {
    let mut scene = Scene::new().await;
    scene.ok("serial.open", json!({"port": LOOPBACK, "flow_control": "rts_cts"})).await;
    let (mut fed, mut read) = (0, 0);
    let all = 3 * BUFFER;
    while read < all {
        let chunk = vec![b'y'; (all - fed).min(10_000)];
        fed += scene.ports.feed(LOOPBACK, &chunk);
        let out = scene.ok("serial.read", json!({"port": LOOPBACK, "max_bytes": 5000, "timeout_ms": 1000})).await;
        assert_eq!(out["lost_bytes"], 0, "{out}");
        read += usize::try_from(out["bytes_read"].as_u64().unwrap()).unwrap();
    }
    assert_eq!((fed, read), (all, all));
}

#[tokio::test]
async fn faults_of_the_line_are_told_once() {
    let mut scene = Scene::new().await;
    scene.ports.set_faults(LOOPBACK, [7, 0, 0, 0, 0]);
    scene.open(LOOPBACK).await;
    let args = json!({"port": LOOPBACK, "timeout_ms": 0});
    let read = scene.ok("serial.read", args.clone()).await;
    assert!(read.get("line_faults").is_none(), "those before it was opened are not its own: {read}");
    scene.ports.set_faults(LOOPBACK, [9, 1, 0, 0, 4]);
    let read = scene.ok("serial.read", args.clone()).await;
    let faults = json!({"framing": 2, "overrun": 1, "parity": 0, "breaks": 0, "buffer_overrun": 4});
    assert_eq!(read["line_faults"], faults);
    assert!(scene.ok("serial.read", args).await.get("line_faults").is_none());
}

#[tokio::test]
async fn a_line_that_takes_nothing_is_a_timeout_with_what_was_taken() {
    let mut scene = Scene::new().await;
    scene.open(LOOPBACK).await;
    scene.ports.hold(LOOPBACK, true);
    let args = json!({"port": LOOPBACK, "text": "hello", "timeout_ms": 20});
    let error = scene.failed("serial.write", args.clone(), "timeout").await;
    assert_eq!((&error["details"]["bytes_written"], &error["timeoutMs"]), (&json!(0), &json!(20)), "{error}");
    scene.ports.hold(LOOPBACK, false);
    scene.ok("serial.write", args).await;
}

#[tokio::test]
async fn bytes_that_do_not_leave_end_a_drain_and_a_break_in_time_and_the_port_is_free() {
    let mut scene = Scene::new().await;
    scene.open(LOOPBACK).await;
    scene.ports.keep(LOOPBACK, true);
    let args = json!({"port": LOOPBACK, "text": "hello", "drain": true, "timeout_ms": 20});
    let error = scene.failed("serial.write", args.clone(), "timeout").await;
    let message = error["message"].as_str().unwrap();
    assert!(message.ends_with("sent 0 of 5 bytes in 20 ms; 5 were dropped"), "{error}");
    assert_eq!(
        (&error["details"]["bytes_written"], &error["details"]["fault"]),
        (&json!(0), &json!("slow")),
        "{error}"
    );
    // A break begins behind what was written before, for which the kernel waits without a limit.
    scene.ok("serial.write", json!({"port": LOOPBACK, "text": "before"})).await;
    let broken = json!({"port": LOOPBACK, "break_ms": 1, "timeout_ms": 20});
    let error = scene.failed("serial.write", broken.clone(), "timeout").await;
    assert!(error["message"].as_str().unwrap().ends_with("sent 0 of 0 bytes in 20 ms"), "{error}");
    assert_eq!(scene.ports.sent(LOOPBACK).2, 0, "no break began");
    scene.ports.keep(LOOPBACK, false);
    scene.ok("serial.write", args).await;
    scene.ok("serial.write", broken).await;
    assert_eq!(scene.ports.sent(LOOPBACK).2, 1);
    scene.ok("serial.close", json!({"port": LOOPBACK})).await;
    let mut other = scene.pi.on(Door::Ws).await;
    other.call("serial.open", json!({"port": LOOPBACK})).await.ok();
}
