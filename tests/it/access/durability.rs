//! What is on the card when a call is answered, and what is there a second later.

use super::call;
use crate::support::served::{Door, Pi, Wire, process::command, soon};
use base::error::{ErrorCode, ToolError};
use contract::{
    access::caller::Transport,
    audit::{ApprovalRecord, AuditRecord, changed::Changed},
    meta::Role,
};
use raspi_mcp::{
    audit::{
        Audit, AuditFilter,
        ledger::{AuditEntry, AuditLedger},
        recent_file, verify_file,
    },
    registry::Registry,
    store::Store,
};
use rusqlite::Connection;
use serde_json::json;
use std::{
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tempfile::{TempDir, tempdir};
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::{Instant, advance, pause, resume},
};

/// Writes down what SQLite's `synchronous` is while a record is put into the audit: 1 is NORMAL, 2 is FULL.
const WATCH: &str = "CREATE TABLE watched (tool TEXT, synchronous INTEGER);
    CREATE TEMP TRIGGER watch AFTER INSERT ON main.audit WHEN new.kind = 'call'
        BEGIN INSERT INTO watched SELECT new.tool, synchronous FROM pragma_synchronous; END";
const NORMAL: i64 = 1;
const FULL: i64 = 2;

/// Begins to watch; the audit has begun before, or there would be no table.
async fn watch(store: &Store) {
    store.run(|db| db.execute_batch(WATCH)).await.unwrap();
}

/// The modes of the commits since, oldest first.
async fn watched(store: &Store) -> Vec<(String, i64)> {
    let read = |db: &mut Connection| -> rusqlite::Result<Vec<(String, i64)>> {
        let mut rows = db.prepare("SELECT tool, synchronous FROM watched ORDER BY rowid")?;
        rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    };
    store.run(read).await.unwrap()
}

/// An audit whose syncs are seen, and may be made to fail.
struct Book {
    _dir: TempDir,
    path: PathBuf,
    store: Store,
    audit: Audit,
    syncs: UnboundedReceiver<()>,
    failing: Arc<AtomicBool>,
}

impl Book {
    fn new() -> Self {
        let dir = tempdir().unwrap();
        let path = dir.path().join("store.db");
        let (seen, syncs) = unbounded_channel();
        let failing = Arc::new(AtomicBool::new(false));
        let fails = Arc::clone(&failing);
        let store = Store::synced_by(&path, move |wal| {
            let _ = seen.send(());
            if fails.load(Ordering::Acquire) { Err(io::Error::other("the card is gone")) } else { wal.sync_data() }
        })
        .unwrap();
        let audit = Audit::new(store.clone(), 1 << 20, None);
        Self { _dir: dir, path, store, audit, syncs, failing }
    }

    async fn pins(&self, numbers: std::ops::Range<usize>) {
        for n in numbers {
            self.audit.write_soon(pin(n)).await.unwrap();
        }
    }

    /// How many syncs there were since this was asked last, those included that tasks are about to ask for; the store's
    /// thread does one thing after the other.
    async fn syncs(&mut self) -> usize {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        self.store.run(|_| Ok(())).await.unwrap();
        std::iter::from_fn(|| self.syncs.try_recv().ok()).count()
    }
}

/// Moves the clock of timers. It stands still only for that: a clock that does runs ahead whenever the store's thread is
/// waited for.
async fn goes_by(milliseconds: u64) {
    // Tasks that were only just started set their timers first.
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    pause();
    advance(Duration::from_millis(milliseconds)).await;
    resume();
}

fn pin(n: usize) -> AuditRecord<'static> {
    AuditRecord { outcome: "ok", approval: None, ..call("gpio.write_pin", n) }
}

fn entry<'a>(
    write: bool,
    volatile: bool,
    error: Option<&'a ToolError>,
    approval: Option<&'a ApprovalRecord>,
) -> AuditEntry<'a> {
    AuditEntry {
        principal: "stdio",
        owner: None,
        role: Role::Admin,
        transport: Transport::Stdio,
        tool: "test.tool",
        by: None,
        write,
        volatile,
        refused: false,
        intent: None,
        args: json!({}),
        args_sha256: "0",
        error,
        duration: Duration::ZERO,
        request_id: "1",
        correlation_id: None,
        approval,
        simulated: true,
        changed: Changed::Yes,
        later: false,
    }
}

#[tokio::test]
async fn only_what_is_gone_with_the_power_does_not_wait_for_the_card() {
    let book = Book::new();
    book.audit.write(pin(0)).await.unwrap();
    watch(&book.store).await;
    let (denied, failed) = (ToolError::denied("not you"), ToolError::internal("it broke"));
    let yes = ApprovalRecord { ask_id: "ABC123".into(), by: "pi".into(), how: "raspi-mcp approve".into() };
    let cases = [
        (entry(true, true, None, None), NORMAL),
        (entry(true, true, Some(&failed), None), NORMAL),
        (entry(true, false, None, None), FULL),
        (entry(true, true, None, None), NORMAL),
        (entry(true, true, Some(&denied), None), FULL),
        (entry(true, true, None, Some(&yes)), FULL),
        (entry(false, false, Some(&denied), None), FULL),
    ];
    let wanted: Vec<i64> = cases.iter().map(|(_, mode)| *mode).collect();
    for (entry, _) in cases {
        book.audit.record(entry).await.unwrap();
    }
    let modes: Vec<i64> = watched(&book.store).await.into_iter().map(|(_, mode)| mode).collect();
    assert_eq!(modes, wanted);
    assert!(book.audit.verify().await.unwrap().ok);
}

#[tokio::test]
async fn the_tools_say_of_themselves_which_they_are() {
    let volatile: Vec<&str> =
        Registry::new(raspi_mcp::tools::NAMESPACES).rows().filter(|e| e.meta.volatile).map(|e| e.name()).collect();
    let pins = ["gpio.configure_pin", "gpio.write_pin", "gpio.set_pwm", "gpio.release_pin"];
    let buses = ["spi.transfer", "serial.open", "serial.write", "serial.close"];
    assert_eq!(volatile, [pins, buses].concat(), "any other has to be thought about: see decisions 110 and 403");
    assert!(
        Registry::new(raspi_mcp::tools::NAMESPACES)
            .rows()
            .all(|entry| !entry.meta.volatile || entry.meta.effect.is_write())
    );

    let pi = Pi::standard(|settings| {
        settings.tools.enable.extend(["gpio", "metrics"].map(str::to_owned));
    })
    .await;
    let mut wire = pi.on(Door::Stdio).await;
    wire.call("gpio.write_pin", json!({"pin": 17, "value": 1})).await.ok();
    let server = pi.server();
    let store = &server.pipeline.services.store;
    watch(store).await;
    wire.call("gpio.write_pin", json!({"pin": 17, "value": 0})).await.ok();
    wire.call("metrics.start_sampling_job", json!({"interval_seconds": 3600, "job_id": "one"})).await.ok();
    wire.call("gpio.release_pin", json!({"pin": 17})).await.ok();
    wire.call("gpio.write_pin", json!({"pin": 0, "value": 0})).await.failed("permission_denied");
    let wanted = [
        ("gpio.write_pin", NORMAL),
        ("metrics.start_sampling_job", FULL),
        ("gpio.release_pin", NORMAL),
        ("gpio.write_pin", FULL),
    ];
    assert_eq!(watched(store).await, wanted.map(|(tool, mode)| (tool.to_owned(), mode)));
    pi.stop().await.unwrap();
}

#[tokio::test]
async fn what_was_only_committed_is_synced_once_within_a_second() {
    let mut book = Book::new();
    book.pins(0..3).await;
    assert_eq!(book.syncs().await, 0, "nobody waited for the card");
    goes_by(1001).await;
    soon(book.syncs.recv()).await.unwrap();
    goes_by(60_000).await;
    assert_eq!(book.syncs().await, 0, "nothing is left to sync, and nobody tries");
}

#[tokio::test]
async fn a_read_that_went_along_is_synced_within_its_own_second() {
    let mut book = Book::new();
    book.audit.check().unwrap();
    // So that the store is open, and the read's timer the only thing to wait for.
    book.store.report().await.unwrap();
    let began = Instant::now();
    book.audit.read(call("gpio.read_pin", 1)).await;
    goes_by(900).await;
    book.pins(2..3).await;
    goes_by(101).await;
    soon(book.syncs.recv()).await.unwrap();
    // A second after the write would be 1.9; what is above 1.0 here is the time that this took by the real clock.
    assert!(began.elapsed() < Duration::from_millis(1900), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_durable_write_takes_those_before_it_to_the_card() {
    let mut book = Book::new();
    book.pins(0..2).await;
    book.audit.write(call("service.restart", 2)).await.unwrap();
    goes_by(60_000).await;
    assert_eq!(book.syncs().await, 0, "its own commit has synced all");
    assert!(book.audit.verify().await.unwrap().ok);
}

#[tokio::test]
async fn a_stop_and_whoever_looks_sync_first() {
    let mut book = Book::new();
    book.pins(0..2).await;
    book.audit.flush().await.unwrap();
    assert_eq!(book.syncs().await, 1);
    book.audit.flush().await.unwrap();
    assert_eq!(book.syncs().await, 0);
}

#[tokio::test]
async fn a_sync_of_the_timer_that_fails_refuses_the_next_write() {
    let mut book = Book::new();
    book.pins(0..2).await;
    assert!(book.audit.ready().is_ok());
    book.failing.store(true, Ordering::Release);
    goes_by(1001).await;
    soon(book.syncs.recv()).await.unwrap();
    let refused = async {
        loop {
            match book.audit.ready() {
                Err(refused) => break refused,
                Ok(()) => tokio::task::yield_now().await,
            }
        }
    };
    let refused = soon(refused).await;
    assert_eq!(refused.code, ErrorCode::Unavailable);
    assert!(refused.message.contains("the card is gone"), "{refused}");
}

#[tokio::test]
async fn after_a_failed_sync_the_records_go_into_the_file_before_anything_else() {
    let mut book = Book::new();
    // A reader is in the way below; a server would wait five seconds for it.
    book.store.run(|db| db.busy_timeout(Duration::ZERO)).await.unwrap();
    book.pins(0..2).await;
    book.failing.store(true, Ordering::Release);
    assert_eq!(book.audit.flush().await.unwrap_err().code, ErrorCode::Unavailable);
    assert!(book.audit.ready().is_err());
    assert_eq!(book.syncs.try_recv(), Ok(()));

    // While somebody reads, the WAL cannot be emptied: still refused.
    let reader = Connection::open(&book.path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM audit").unwrap();
    book.audit.flush().await.unwrap_err();
    assert!(book.audit.ready().is_err());
    drop(reader);

    book.audit.flush().await.unwrap();
    assert!(book.audit.ready().is_ok());
    assert!(book.syncs.try_recv().is_err(), "a second sync would have succeeded without having done anything");
    // The file alone, as if the card had lost the WAL.
    let alone = book.path.with_file_name("alone.db");
    std::fs::copy(&book.path, &alone).unwrap();
    let report = verify_file(&alone, None).unwrap();
    assert!(report.ok && report.last_seq == 3, "{report:?}");

    book.failing.store(false, Ordering::Release);
    book.pins(2..4).await;
    assert!(book.audit.verify().await.unwrap().ok);
    assert_eq!(book.syncs().await, 1);
}

#[tokio::test]
async fn an_answered_pin_outlasts_a_killed_server() {
    let root = TempDir::new().unwrap();
    let mut child = command(&root, &["serve", "--stdio"])
        .env("RASPI_MCP__TOOLS__ENABLE", "gpio")
        .env("RASPI_MCP__ACCESS__STDIO_ROLE", "admin")
        .spawn()
        .unwrap();
    let mut wire = Wire::lines(Door::Stdio, child.stdout.take().unwrap(), child.stdin.take().unwrap());
    wire.call("gpio.write_pin", json!({"pin": 17, "value": 1})).await.ok();
    // SIGKILL.
    soon(child.kill()).await.unwrap();

    let path = root.path().join("state/store.db");
    let (records, _) = recent_file(&path, &AuditFilter::default(), 10).unwrap();
    assert_eq!((&records[0]["tool"], &records[0]["args"]["pin"]), (&json!("gpio.write_pin"), &json!(17)));
    assert!(verify_file(&path, None).unwrap().ok);
}
