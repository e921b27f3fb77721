//! The audit: what is kept, and that every way of changing it afterwards shows.

use base::error::ErrorCode;
use contract::{
    audit::{ApprovalRecord, AuditHead, AuditRecord, KnownHeads, changed::Changed},
    meta::Role,
};
use raspi_mcp::{
    audit::{Audit, AuditFilter, AuditReport, verify, verify_file},
    store::Store,
};
use rusqlite::Connection;
use serde_json::json;
use std::path::PathBuf;
use tempfile::{TempDir, tempdir};

/// An audit in a folder of its own.
struct Book {
    _dir: TempDir,
    path: PathBuf,
    audit: Audit,
}

impl Book {
    fn new(max_bytes: u64) -> Self {
        let dir = tempdir().unwrap();
        let path = dir.path().join("store.db");
        let audit = Audit::new(Store::open(&path).unwrap(), max_bytes, None);
        Self { _dir: dir, path, audit }
    }

    async fn writes(count: usize) -> Self {
        let book = Self::new(1 << 20);
        for n in 0..count {
            book.audit.write(call("gpio.write_pin", n)).await.unwrap();
        }
        book
    }

    /// Changes the file behind the audit's back.
    fn tamper(&self, sql: &str) {
        Connection::open(&self.path).unwrap().execute_batch(sql).unwrap();
    }

    fn verdict(&self, heads: &[AuditHead]) -> AuditReport {
        let known = KnownHeads { heads: heads.to_vec(), ..KnownHeads::default() };
        verify_file(&self.path, Some(&known)).unwrap()
    }

    fn head(&self) -> AuditHead {
        let db = Connection::open(&self.path).unwrap();
        db.query_row(
            "SELECT chain, seq, lower(hex(hash)) FROM audit, audit_state ORDER BY seq DESC LIMIT 1",
            [],
            |row| Ok(AuditHead { chain: row.get(0)?, seq: row.get(1)?, hash: row.get(2)? }),
        )
        .unwrap()
    }
}

pub fn call(tool: &str, n: usize) -> AuditRecord<'_> {
    AuditRecord {
        ts_ms: 1_700_000_000_000 + n as i64 * 1000,
        intent: None,
        principal: if n.is_multiple_of(2) { "token:fleet".into() } else { "stdio".into() },
        owner: None,
        role: Some(Role::OpsRw),
        door: "http",
        tool: tool.into(),
        by: None,
        args: json!({"pin": n}),
        args_sha256: "0".repeat(64).into(),
        outcome: if n.is_multiple_of(5) { "permission_denied" } else { "ok" },
        message: None,
        duration_ms: 3,
        request_id: Some(format!("n:{n}").into()),
        correlation_id: None,
        approval: Some(ApprovalRecord { ask_id: "ABC123".into(), by: "pi".into(), how: "raspi-mcp approve".into() }),
        simulated: true,
        changed: Changed::Yes,
        later: false,
    }
}

fn broken(report: &AuditReport, at: Option<i64>, words: &str) {
    assert!(!report.ok, "{report:?}");
    assert_eq!(report.break_at, at, "{report:?}");
    assert!(report.reason.as_deref().unwrap_or_default().contains(words), "{report:?}");
}

#[tokio::test]
async fn what_is_written_is_there_and_the_chain_is_whole() {
    let book = Book::writes(10).await;
    let report = book.verdict(&[book.head()]);
    assert!(report.ok, "{report:?}");
    assert_eq!((report.records, report.first_seq, report.last_seq, report.heads_checked), (11, 1, 11, 1));

    let (newest, total) = book.audit.recent(AuditFilter::default(), 3, 0).await.unwrap();
    assert_eq!(total, 10);
    assert_eq!(newest.len(), 3);
    assert_eq!(newest[0]["args"]["pin"], 9);
    assert_eq!(newest[0]["seq"], 11);
    assert_eq!(newest[0]["ts"], "2023-11-14T22:13:29.000Z");
    assert_eq!(newest[0]["approval"]["by"], "pi");
    assert_eq!(newest[0]["role"], "ops_rw");
}

#[tokio::test]
async fn records_are_found_by_tool_caller_outcome_and_time() {
    let book = Book::writes(10).await;
    let count = async |filter: AuditFilter| book.audit.recent(filter, 100, 0).await.unwrap().1;
    assert_eq!(count(AuditFilter { tool: Some("gpio.write_pin".into()), ..AuditFilter::default() }).await, 10);
    assert_eq!(count(AuditFilter { tool: Some("gpio.read_pin".into()), ..AuditFilter::default() }).await, 0);
    assert_eq!(count(AuditFilter { principal: Some("stdio".into()), ..AuditFilter::default() }).await, 5);
    assert_eq!(count(AuditFilter { outcome: Some("permission_denied".into()), ..AuditFilter::default() }).await, 2);
    let (since_ms, until_ms) = (Some(1_700_000_002_000), Some(1_700_000_004_000));
    assert_eq!(count(AuditFilter { since_ms, until_ms, ..AuditFilter::default() }).await, 2);
    let (page, total) = book.audit.recent(AuditFilter::default(), 4, 8).await.unwrap();
    assert_eq!((page.len(), total), (2, 10));
}

#[tokio::test(start_paused = true)]
async fn reads_are_recorded_together_within_a_second() {
    let book = Book::new(1 << 20);
    for n in 0..50 {
        book.audit.read(call("system.get_basic_info", n)).await;
    }
    let rows = || -> i64 {
        let db = Connection::open(&book.path).unwrap();
        db.query_row("SELECT count(*) FROM audit WHERE kind = 'reads'", [], |row| row.get(0)).unwrap_or(0)
    };
    assert_eq!(rows(), 0, "nothing is written before the second is over");
    tokio::time::sleep(std::time::Duration::from_millis(1001)).await;
    // Asking goes through the same thread after the batch.
    let (_, total) = book.audit.recent(AuditFilter::default(), 1, 0).await.unwrap();
    // No row is longer than 8 KiB, and these say everything: no two are alike.
    assert_eq!((total, rows()), (50, 3));
    assert!(book.verdict(&[]).ok);
}

#[tokio::test]
async fn reads_of_one_row_are_found_one_by_one_like_writes() {
    let book = Book::new(1 << 20);
    for n in 0..10 {
        book.audit.read(call(if n < 7 { "gpio.read_pin" } else { "system.get_clock" }, n)).await;
    }
    book.audit.write(call("gpio.write_pin", 10)).await.unwrap();
    let found = async |filter: AuditFilter, limit, offset| {
        let (page, total) = book.audit.recent(filter, limit, offset).await.unwrap();
        (page.iter().map(|record| record["args"]["pin"].as_i64().unwrap()).collect::<Vec<_>>(), total)
    };
    assert_eq!(found(AuditFilter::default(), 4, 0).await, (vec![10, 9, 8, 7], 11));
    assert_eq!(found(AuditFilter::default(), 4, 9).await, (vec![1, 0], 11));
    assert_eq!(
        found(AuditFilter { tool: Some("gpio.read_pin".into()), ..AuditFilter::default() }, 2, 1).await,
        (vec![5, 4], 7)
    );
    assert_eq!(found(AuditFilter { principal: Some("stdio".into()), ..AuditFilter::default() }, 9, 0).await.1, 5);
    let refused = AuditFilter { outcome: Some("permission_denied".into()), ..AuditFilter::default() };
    assert_eq!(found(refused, 9, 0).await, (vec![10, 5, 0], 3));
    let (since_ms, until_ms) = (Some(1_700_000_002_000), Some(1_700_000_004_000));
    assert_eq!(found(AuditFilter { since_ms, until_ms, ..AuditFilter::default() }, 9, 0).await, (vec![3, 2], 2));
    let (page, _) = book.audit.recent(AuditFilter::default(), 11, 0).await.unwrap();
    assert_eq!([&page[0]["seq"], &page[1]["seq"], &page[10]["seq"]], [3, 2, 2]);
    assert!(page.iter().all(|record| record["kind"] == "call" && record["args_sha256"] == "0".repeat(64)));
}

#[tokio::test]
async fn a_read_like_the_one_before_it_is_kept_short_and_shown_whole() {
    let book = Book::new(1 << 20);
    let like = |tool, n: usize| AuditRecord {
        args: json!({"kind": "a \"kind\": in quotes"}),
        principal: "stdio".into(),
        owner: None,
        outcome: "ok",
        approval: None,
        message: (n == 0).then(|| "only here".to_owned()),
        ..call(tool, n)
    };
    for n in 0..4 {
        book.audit.read(like("gpio.read_pin", n)).await;
    }
    book.audit.read(like("system.get_clock", 4)).await;
    book.audit.read(like("system.get_clock", 5)).await;
    let (page, total) = book.audit.recent(AuditFilter::default(), 10, 0).await.unwrap();
    assert_eq!(total, 6);
    for (record, n) in page.iter().zip((0..6).rev()) {
        let tool = if n < 4 { "gpio.read_pin" } else { "system.get_clock" };
        assert_eq!((&record["tool"], &record["request_id"]), (&json!(tool), &json!(format!("n:{n}"))));
        assert_eq!((&record["principal"], &record["args"]["kind"]), (&json!("stdio"), &json!("a \"kind\": in quotes")));
        assert_eq!(record.get("message"), (n == 0).then(|| json!("only here")).as_ref());
        assert_eq!(record["ts"], format!("2023-11-14T22:13:{}.000Z", 20 + n));
    }
    let clocks = AuditFilter {
        tool: Some("system.get_clock".into()),
        until_ms: Some(1_700_000_005_000),
        ..AuditFilter::default()
    };
    assert_eq!(book.audit.recent(clocks, 10, 0).await.unwrap().1, 1);
    let db = Connection::open(&book.path).unwrap();
    let row: String = db.query_row("SELECT body FROM audit WHERE kind = 'reads'", [], |row| row.get(0)).unwrap();
    assert_eq!(row.matches("\"args_sha256\"").count(), 2, "{row}");
}

#[tokio::test]
async fn a_changed_read_shows() {
    let book = Book::new(1 << 20);
    for n in 0..3 {
        book.audit.read(call("gpio.read_pin", n)).await;
    }
    book.audit.flush().await.unwrap();
    assert!(book.verdict(&[]).ok);
    book.tamper("UPDATE audit SET body = replace(body, '\"pin\":1', '\"pin\":7') WHERE kind = 'reads'");
    broken(&book.verdict(&[]), Some(2), "is not the one its hash was made for");
}

#[tokio::test]
async fn a_write_takes_the_reads_before_it_along_in_order() {
    let book = Book::new(1 << 20);
    book.audit.read(call("gpio.read_pin", 1)).await;
    book.audit.write(call("gpio.write_pin", 2)).await.unwrap();
    let (records, _) = book.audit.recent(AuditFilter::default(), 10, 0).await.unwrap();
    assert_eq!([&records[0]["tool"], &records[1]["tool"]], ["gpio.write_pin", "gpio.read_pin"]);
}

#[tokio::test]
async fn a_changed_record_shows() {
    let book = Book::writes(10).await;
    book.tamper("UPDATE audit SET body = replace(body, '\"pin\":4', '\"pin\":5') WHERE seq = 6");
    broken(&book.verdict(&[]), Some(6), "record 6");
}

#[tokio::test]
async fn a_changed_search_column_shows() {
    let book = Book::writes(10).await;
    book.tamper("UPDATE audit SET principal = 'somebody else' WHERE seq = 6");
    broken(&book.verdict(&[]), Some(6), "search columns");
}

#[tokio::test]
async fn a_removed_record_shows() {
    let book = Book::writes(10).await;
    book.tamper("DELETE FROM audit WHERE seq = 6");
    broken(&book.verdict(&[]), Some(7), "record 6 is missing");
}

#[tokio::test]
async fn records_that_changed_places_show() {
    let book = Book::writes(10).await;
    book.tamper("UPDATE audit SET seq = 99 WHERE seq = 6; UPDATE audit SET seq = 6 WHERE seq = 7; UPDATE audit SET seq = 7 WHERE seq = 99;");
    broken(&book.verdict(&[]), Some(6), "record 6");
}

#[tokio::test]
async fn records_cut_off_at_the_front_show() {
    let book = Book::writes(10).await;
    book.tamper("DELETE FROM audit WHERE seq < 6");
    broken(&book.verdict(&[]), Some(6), "no checkpoint");
}

#[tokio::test]
async fn records_cut_off_at_the_end_show_to_who_has_a_head() {
    let book = Book::writes(10).await;
    let head = book.head();
    book.tamper("DELETE FROM audit WHERE seq > 8");
    assert!(book.verdict(&[]).ok, "the chain alone cannot tell");
    broken(&book.verdict(&[head]), Some(9), "cut off");
}

#[tokio::test]
async fn a_chain_written_anew_from_the_middle_shows_to_who_has_a_head() {
    let book = Book::writes(10).await;
    let head = book.head();
    // What the half that writes the chain could do: cut, and go on writing.
    book.tamper("DELETE FROM audit WHERE seq > 8");
    for n in 50..60 {
        book.audit.write(call("gpio.write_pin", n)).await.unwrap();
    }
    assert!(book.verdict(&[]).ok, "the chain alone cannot tell");
    broken(&book.verdict(&[head]), Some(11), "rewritten");
}

#[tokio::test]
async fn an_emptied_audit_shows() {
    let book = Book::writes(3).await;
    let head = book.head();
    book.tamper("DELETE FROM audit");
    broken(&book.verdict(&[]), None, "no record at all");
    broken(&book.verdict(&[head]), None, "no record at all");
}

#[tokio::test]
async fn another_chain_in_its_place_shows() {
    let book = Book::writes(3).await;
    let other = Book::writes(3).await;
    let report = book.verdict(&[other.head()]);
    broken(&report, None, "never this one");
    assert_eq!(report.gaps[0].chain, other.head().chain);
    // Nor is it enough that the agent was told of both: one of them is missing.
    let report = book.verdict(&[book.head(), other.head()]);
    broken(&report, None, "is missing");
    assert_eq!(report.gaps[0].chain, other.head().chain);
}

#[tokio::test]
async fn trimming_keeps_to_the_bound_and_the_chain_goes_on() {
    let book = Book::new(20_000);
    let mut early = None;
    for n in 0..300 {
        book.audit.write(call("gpio.write_pin", n)).await.unwrap();
        early = early.or_else(|| Some(book.head()));
    }
    let report = book.verdict(&[early.unwrap(), book.head()]);
    assert!(report.ok, "{report:?}");
    assert!(report.first_seq > 100, "{report:?}");
    assert!(report.records < 60, "{report:?}");
    let (_, total) = book.audit.recent(AuditFilter::default(), 1, 0).await.unwrap();
    assert!(total > 20, "{total}");

    book.tamper(&format!("DELETE FROM audit WHERE seq = {}", report.first_seq));
    broken(&book.verdict(&[]), Some(report.first_seq + 1), "no checkpoint");
}

#[tokio::test]
async fn a_checkpoint_that_was_forged_shows() {
    let book = Book::new(20_000);
    for n in 0..200 {
        book.audit.write(call("gpio.write_pin", n)).await.unwrap();
    }
    let first = book.verdict(&[]).first_seq;
    book.tamper(&format!(
        "DELETE FROM audit WHERE seq = {first};
         UPDATE audit SET body = replace(body, '\"through_seq\":{}', '\"through_seq\":{first}') WHERE kind = 'checkpoint'",
        first - 1
    ));
    assert!(!book.verdict(&[]).ok);
}

#[tokio::test]
async fn no_audit_no_write() {
    let dir = tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "in the way").unwrap();
    let audit = Audit::new(Store::open(&dir.path().join("file/store.db")).unwrap(), 1 << 20, None);
    assert_eq!(audit.write(call("gpio.write_pin", 1)).await.unwrap_err().code, ErrorCode::Unavailable);
    assert_eq!(
        audit.check().unwrap_err().code,
        ErrorCode::Unavailable,
        "and the next write is refused before it is done"
    );
}

#[tokio::test]
async fn reads_that_could_not_be_kept_leave_a_gap_record() {
    let book = Book::writes(1).await;
    // The table is gone for a moment: commits fail.
    book.tamper("ALTER TABLE audit RENAME TO hidden");
    for n in 0..4200 {
        book.audit.read(call("gpio.read_pin", n)).await;
    }
    assert!(book.audit.flush().await.is_err());
    assert!(book.audit.check().is_err());
    book.tamper("ALTER TABLE hidden RENAME TO audit");
    book.audit.write(call("gpio.write_pin", 2)).await.unwrap();
    assert!(book.audit.check().is_ok());
    let db = Connection::open(&book.path).unwrap();
    let gap: String = db.query_row("SELECT body FROM audit WHERE kind = 'gap'", [], |row| row.get(0)).unwrap();
    let gap: serde_json::Value = serde_json::from_str(&gap).unwrap();
    assert!(gap["lost"].as_u64().unwrap() > 0, "{gap}");
    assert!(verify(&db, None, None).unwrap().ok);
}
