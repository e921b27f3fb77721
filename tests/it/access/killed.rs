//! A server that is killed while it writes: each write is recorded with its outcome, or as one whose outcome is not known.

use crate::support::served::{Door, Wire, process::command, soon};
use raspi_mcp::audit::{AuditFilter, recent_file, unfinished, verify_file};
use serde_json::json;
use std::{
    collections::BTreeMap,
    mem,
    process::Stdio,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// A small generator of numbers, so that a failure can be had again.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Five kills; `RASPI_MCP_KILLS=100` for as many, `RASPI_MCP_SEED` for other moments.
#[tokio::test]
async fn each_write_before_a_kill_is_explained() {
    let number = |name: &str, else_: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(else_);
    let (kills, seed) = (number("RASPI_MCP_KILLS", 5), number("RASPI_MCP_SEED", 7));
    let (mut dice, root) = (Dice(seed), TempDir::new().unwrap());
    let (mut answered, mut sent) = (BTreeMap::new(), 0);
    for kill in 0..kills {
        let mut child = command(&root, &["serve", "--stdio"])
            .env("RASPI_MCP__TOOLS__ENABLE", "gpio,metrics")
            .env("RASPI_MCP__LIMITS__WRITES_PER_MINUTE", "100000")
            .env("RASPI_MCP__ACCESS__STDIO_ROLE", "admin")
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut wire = Wire::lines(Door::Stdio, child.stdout.take().unwrap(), child.stdin.take().unwrap());
        // Volatile writes and durable ones; the first answer says that the server is up.
        let write = |n: u64| match n % 3 {
            0 => ("metrics.start_sampling_job", json!({"interval_seconds": 3600, "job_id": format!("k{}", n % 2)})),
            _ => ("gpio.write_pin", json!({"pin": 17, "value": n % 2})),
        };
        wire.call("system.get_clock", json!({})).await.ok();
        let until = Instant::now() + Duration::from_micros(dice.below(400_000));
        let mut first = true;
        while Instant::now() < until || mem::take(&mut first) {
            let (tool, args) = write(sent);
            let meta = json!({"correlation_id": format!("{kill}-{sent}")});
            wire.ask("tools/call", json!({"name": tool, "arguments": args, "_meta": meta}));
            sent += 1;
            if let Ok(Some(answer)) = tokio::time::timeout(Duration::from_millis(50), wire.next()).await {
                let ended = answer.result()["isError"] != true;
                answered.insert(answer.meta()["correlation_id"].as_str().unwrap_or_default().to_owned(), ended);
            }
        }
        soon(child.kill()).await.unwrap();
    }
    let path = root.path().join("state/store.db");
    let report = verify_file(&path, None).unwrap();
    assert!(report.ok, "{report:?}");
    let (records, total) = recent_file(&path, &AuditFilter::default(), u32::MAX).unwrap();
    let mut explained: BTreeMap<String, String> = BTreeMap::new();
    for record in &records {
        if let Some(id) = record["correlation_id"].as_str() {
            let outcome = record["outcome"].as_str().unwrap().to_owned();
            assert_eq!(explained.insert(id.to_owned(), outcome), None, "{id} is shown twice");
        }
    }
    for (id, ended) in &answered {
        assert_eq!(explained.get(id).map(|outcome| outcome == "ok"), Some(*ended), "{id} was answered");
    }
    let (_, open) = unfinished(&path).unwrap();
    let unknown = explained.values().filter(|outcome| *outcome == "unknown").count() as u64;
    assert_eq!(open, unknown);
    // What was sent and is not in the audit was never begun; whatever is there has an outcome or is not known.
    assert!(explained.len() as u64 <= sent && unknown <= kills * 12, "{unknown}");
    println!(
        "{kills} kills, seed {seed}: {sent} writes sent, {} answered, {} recorded with outcome, {unknown} whose outcome is not known, {} never begun, {total} entries",
        answered.len(),
        explained.len() as u64 - unknown,
        sent - explained.len() as u64,
    );
}
