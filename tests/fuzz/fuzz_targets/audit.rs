//! Any rows in the store, any lines in the agent's file, any chain told to the agent: never a panic, a hang or memory beyond its
//! bounds, and nothing passes that the agent did not see.
//!
//! Input: the first byte says what the rest is. Rows get hashes that fit where they stand in the way: who broke into the
//! server can make them.

#![no_main]

use agent::operations as op;
use libfuzzer_sys::fuzz_target;
use contract::{audit::{Beginning, Extension, AuditHead, KnownHeads}, config::{Places, Settings}};
use raspi_mcp::audit::{AuditFilter, recent_file, verify};
use base::{base64url, os::Root};
use agent::{Agent, AgentLink, AgentSettings, Platform, heads, machine::SimulatedMachine, system_clock};
use rusqlite::{Connection, params};
use std::{fs, sync::Arc};
use tempfile::TempDir;
use tokio::runtime::Runtime;

thread_local! {
    static RUNTIME: Runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    static FOLDER: TempDir = TempDir::new().expect("a folder");
}

/// A store with one row for each line of `input`; a table without types, so that any value of any type stands in it.
fn rows(folder: &TempDir, input: &[u8]) {
    let path = folder.path().join("store.db");
    let _ = fs::remove_file(&path);
    let db = Connection::open(&path).expect("a file");
    db.execute_batch(
        "CREATE TABLE audit (seq INTEGER PRIMARY KEY, ts, kind, tool, principal, outcome, hash, body);
        CREATE TABLE audit_state (id, chain, bytes); INSERT INTO audit_state VALUES (1, 'aaaaaaaaaaaaaaaa', 0);",
    )
    .expect("tables");
    for (at, line) in (0i64..).zip(input.split(|byte| *byte == b'\n')) {
        let (text, bytes) = (String::from_utf8_lossy(line), line.to_vec());
        let kind = ["start", "call", "reads", "checkpoint"][line.first().map_or(0, |byte| usize::from(*byte) % 4)];
        let body = format!("{{\"seq\":{},\"kind\":\"{kind}\",\"ts\":\"1970-01-01T00:00:00.000Z\",{text}", at + 1);
        let _ = match line.len() % 3 {
            0 => db.execute("INSERT INTO audit VALUES (?, 0, ?, '', '', '', zeroblob(32), ?)", params![at + 1, kind, body]),
            1 => db.execute("INSERT INTO audit VALUES (?, ?3, ?, ?3, ?3, ?3, ?3, ?3)", params![at + 1, kind, bytes]),
            _ => db.execute("INSERT INTO audit VALUES (?, 0, ?, '', '', '', ?3, ?3)", params![at + 1, kind, text]),
        };
    }
    let seen = AuditHead { chain: "aaaaaaaaaaaaaaaa".into(), seq: 1, hash: "0".repeat(64) };
    let known = KnownHeads { heads: vec![seen], ..KnownHeads::default() };
    // It may be no SQLite query's business; what it says is never "whole".
    assert!(!verify(&db, Some(&known), None).is_ok_and(|report| report.ok));
    let _ = recent_file(&path, &AuditFilter::default(), 10);
}

fn settings(folder: &TempDir) -> AgentSettings {
    let settings = Settings::default_for(&Places::below(folder.path()));
    AgentSettings::of(&settings, true, Root::at(folder.path()))
}

/// The agent starts on any file of heads, says the same after a restart, and still takes what follows.
fn agent(folder: &TempDir, runtime: &Runtime, input: &[u8], file: bool) {
    let settings = settings(folder);
    let _ = fs::remove_dir_all(&settings.state_dir);
    let start = || {
        let platform = Platform::new(system_clock(), Arc::new(SimulatedMachine::on(&settings.root)));
        AgentLink::InProcess(runtime.block_on(async { Agent::start(settings.clone(), platform) }).expect("it starts"))
    };
    drop(start());
    if file {
        fs::write(settings.state_dir.join("audit-heads.ndjson"), input).expect("a file");
        let read = heads::read(&settings.state_dir).expect("it is read");
        assert!(read.heads.is_empty(), "a line without the key is believed");
    }
    let link = start();
    let chain = "b".repeat(16);
    let beginning = || Beginning { chain: chain.clone(), store: "/s".into(), before_seq: 0, before_hash: "0".repeat(64) };
    let begun = runtime.block_on(link.call::<op::audit::FindPosition>(beginning())).expect("a chain");
    let mut at = begun;
    for line in input.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let goes_on = line.len() % 3 == 0;
        let more = Extension {
            chain: chain.clone(),
            after: at.seq + i64::from(line[0] == b'?'),
            part: at.part,
            lengths: vec![line.len() as u32],
            records: base64url::encode(line),
            goes_on,
        };
        match runtime.block_on(link.call::<op::audit::ExtendAudit>(more)) {
            Ok(next) => {
                assert_eq!(next.seq, at.seq + i64::from(!goes_on));
                at = next;
            }
            Err(_) => assert_eq!(line[0], b'?'),
        }
    }
    drop(link);
    let again = start();
    let after = runtime.block_on(again.call::<op::audit::FindPosition>(beginning())).expect("the same chain");
    assert_eq!((after.seq, after.hash), (at.seq, at.hash));
}

fuzz_target!(|input: &[u8]| {
    let Some((what, rest)) = input.split_first() else { return };
    FOLDER.with(|folder| {
        RUNTIME.with(|runtime| match what % 3 {
            0 => rows(folder, rest),
            1 => agent(folder, runtime, rest, true),
            _ => agent(folder, runtime, rest, false),
        });
    });
});
