//! An agent that registers its tools again and again takes no memory.

use crate::support::served::{Door, Pi};
use base::error::ToolError;
use contract::meta::{Meta, OwnedMeta};
use raspi_mcp::registry::{added::ToolHandler, context::Context, entry::Entry, tool::ToolFuture};
use serde_json::{Value, json};

const TIMES: usize = 10_000;
/// What it may grow by, in KiB; a leak of the descriptions alone would be 40,000.
const NOISE: u64 = 1024;

struct Never;

impl ToolHandler for Never {
    fn call<'a>(&'a self, _cx: &'a Context, _args: Value) -> ToolFuture<'a> {
        Box::pin(async { Err(ToolError::unavailable("it does nothing")) })
    }
}

/// Private memory of this process, in KiB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn register(pi: &Pi, number: usize) {
    let description = format!("Water, for the {number}th time. {}", "Words. ".repeat(600));
    let meta = OwnedMeta::new("greenhouse.water", "Water", &description, Meta::READ);
    let entry = Entry::added(meta, json!({"type": "object"}), Value::Null, Never).unwrap();
    assert!(pi.server().pipeline.registry.set_namespace("greenhouse", vec![entry]).unwrap());
}

/// The other half of the next test: a process of its own, since the others here take memory too.
#[tokio::test]
#[ignore = "started by ten_thousand_registrations_leave_the_memory_as_it_was"]
async fn ten_thousand_registrations() {
    let pi = Pi::start().await;
    let mut wire = pi.on(Door::Stdio).await;
    let mut before = 0;
    for number in 0..TIMES + 1000 {
        if number == 1000 {
            before = memory();
        }
        register(&pi, number);
        if number % 500 == 0 {
            let listed = wire.request("tools/list", json!({"limit": 200})).await;
            assert!(listed.result().to_string().contains(&format!("for the {number}th time")));
        }
    }
    let after = memory();
    assert!(after <= before + NOISE, "{before} KiB before {TIMES} registrations, {after} KiB after them");
}

#[test]
fn ten_thousand_registrations_leave_the_memory_as_it_was() {
    let done = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "rpc::registrations::ten_thousand_registrations"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
}
