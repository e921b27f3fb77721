//! A line at 115,200 baud is read without a loss, with memory flat. A few seconds here; by hand for a minute:
//! `SERIAL_SECONDS=60 cargo test --test tools serial::minute -- --nocapture`.

use super::ptys::{Pty, server};
use serde_json::json;
use std::{
    thread,
    time::{Duration, Instant},
};

/// Bytes a second at 115,200 baud with eight bits, a start and a stop bit.
const RATE: u64 = 11_520;
/// What memory may grow by while nothing is kept, in KiB: less than a tenth of what passes.
const FLAT_KIB: u64 = 512;

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Sends lines with numbers at the pace of the line, until so many seconds are over. Returns how many.
fn sends(pty: &Pty, seconds: u64) -> u64 {
    let (began, mut sent, mut number) = (Instant::now(), 0, 0);
    while began.elapsed() < Duration::from_secs(seconds) {
        let line = format!("{number:014}\n");
        number += 1;
        sent += line.len() as u64;
        pty.send(line.as_bytes());
        // The other end of a line has a clock.
        let due = began + Duration::from_micros(sent * 1_000_000 / RATE);
        thread::park_timeout(due.saturating_duration_since(Instant::now()));
    }
    pty.send(b"END\n");
    number
}

#[tokio::test]
async fn a_line_at_full_speed_is_read_without_a_loss() {
    let seconds = std::env::var("SERIAL_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    let pty = Pty::new();
    let name = pty.name.clone();
    let (_pi, mut wire) = server(&[&name]).await;
    wire.call("serial.open", json!({"port": name, "lease_seconds": 3600})).await.ok();
    // The pseudoterminal is kept: what was not read is gone with its other end.
    let sender = thread::spawn(move || (sends(&pty, seconds), pty));
    let (mut next, mut rest, mut before, mut most) = (0_u64, String::new(), 0, 0);
    loop {
        let read = wire.call("serial.read", json!({"port": name, "max_bytes": 4096, "timeout_ms": 5000})).await;
        let read = read.ok();
        assert_eq!(read["lost_bytes"], 0, "{read}");
        rest.push_str(read["text"].as_str().unwrap());
        while let Some((line, after)) = rest.split_once('\n') {
            if line == "END" {
                let (sent, _pty) = sender.join().unwrap();
                assert_eq!(next, sent);
                println!("{seconds} s: {sent} lines, {} bytes, memory {before} to {most} KiB", sent * 15);
                assert!(most < before + FLAT_KIB, "{before} KiB, then {most}");
                return;
            }
            assert_eq!(line.parse(), Ok(next), "in order and whole");
            next += 1;
            rest = after.to_owned();
        }
        // After the first half second everything is warm.
        match before {
            0 if next * 15 > RATE / 2 => before = resident_kib(),
            _ => most = resident_kib(),
        }
    }
}
