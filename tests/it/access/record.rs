//! What is written of a call, how much of it, and when: nobody's records push out those of others, and no write is done unrecorded.

use super::call;
use crate::support::served::{Door, Pi, calls, process::Process, soon, token};
use contract::{
    access::caller::{Caller, Transport},
    audit::AuditRecord,
    meta::Role,
};
use raspi_mcp::{
    audit::{Audit, AuditFilter, unfinished, verify_file},
    store::{Durability, Store},
};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::{path::Path, time::Duration};
use tempfile::{TempDir, tempdir};

/// What a row of the audit takes, as the bound counts it: the largest, and all together.
fn stored(path: &Path) -> (i64, i64) {
    let size = "octet_length(body) + octet_length(tool) + octet_length(principal) + octet_length(outcome) + 80";
    let db = Connection::open(path).unwrap();
    db.query_row(&format!("SELECT max({size}), sum({size}) FROM audit"), [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
}

fn book(max_bytes: u64) -> (TempDir, std::path::PathBuf, Store, Audit) {
    let dir = tempdir().unwrap();
    let path = dir.path().join("store.db");
    let store = Store::open(&path).unwrap();
    let audit = Audit::new(store.clone(), max_bytes, None);
    (dir, path, store, audit)
}

#[tokio::test]
async fn a_record_has_at_most_8_kib_whatever_field_is_long() {
    let (_dir, path, _, audit) = book(64 << 20);
    for text in ["x".repeat(100_000), "\u{1}\"\\".repeat(10_000), "\u{1f600}".repeat(10_000)] {
        let short = || AuditRecord { args: json!({}), ..call("gpio.write_pin", 1) };
        let mut approved = short();
        if let Some(approval) = &mut approved.approval {
            (approval.ask_id, approval.by, approval.how) = (text.clone(), text.clone(), text.clone());
        }
        let deep = (0..1000).fold(json!(text), |inner, _| json!([inner]));
        let keys: Value = (0..64).map(|n| (format!("{n}{text}"), json!(1))).collect::<serde_json::Map<_, _>>().into();
        let all = AuditRecord {
            principal: text.clone().into(),
            owner: None,
            door: &text,
            tool: text.clone().into(),
            args: json!({ "a": text }),
            args_sha256: text.clone().into(),
            outcome: &text,
            message: Some(text.clone()),
            request_id: Some(text.clone().into()),
            correlation_id: Some(&text),
            approval: approved.approval.clone(),
            ..short()
        };
        let records = [
            approved,
            AuditRecord { args: json!({ "a": text }), ..short() },
            AuditRecord { args: deep, ..short() },
            AuditRecord { args: keys, ..short() },
            AuditRecord { principal: text.clone().into(), ..short() },
            AuditRecord { message: Some(text.clone()), ..short() },
            AuditRecord { request_id: Some(text.clone().into()), ..short() },
            AuditRecord { correlation_id: Some(&text), ..short() },
            all,
        ];
        for record in records {
            audit.read(record.clone()).await;
            audit.intend(record.clone(), Durability::Synced).await.unwrap();
            audit.write(record).await.unwrap();
        }
    }
    audit.flush().await.unwrap();
    let (largest, _) = stored(&path);
    assert!(largest <= 8192, "{largest}");
    assert!(verify_file(&path, None).unwrap().ok);
}

#[tokio::test]
async fn long_arguments_are_kept_as_length_hash_and_beginning() {
    let pi = Pi::with(|settings| settings.limits.reads_per_minute = 100_000).await;
    let args = json!({ "text": 7, "long": vec!["y".repeat(250); 60] });
    pi.call("test.echo", args.clone()).await.failed("invalid_argument");
    let record = pi.audited(|record| record["tool"] == "test.echo").await;
    let sha256 = base::canonical::sha256_hex(&args);
    let said = &record["args"]["arguments_left_out"];
    assert_eq!((&record["args_sha256"], &said["sha256"]), (&json!(sha256), &json!(sha256)), "{record}");
    assert_eq!(said["bytes"], base::canonical::to_string(&args).len());
    assert!(said["head"].as_str().unwrap().starts_with("{\"text\":7,"), "{record}");
}

#[tokio::test]
async fn of_each_kind_of_refusal_the_first_is_recorded_and_the_rest_is_a_number() {
    let pi = Pi::start().await;
    let mut wire = pi.on(Door::Http).await;
    for n in 0..30 {
        wire.call("test.echo", json!({ "nothing": n })).await.failed("invalid_argument");
        wire.call("test.admin", json!({})).await.failed("permission_denied");
    }
    // Another caller's first has a record of its own.
    pi.call("test.echo", json!({ "nothing": 1 })).await.failed("invalid_argument");
    let records = pi.audit().await;
    let of = |tool: &str, principal: &str| -> Vec<&Value> {
        records.iter().filter(|record| record["tool"] == tool && record["principal"] == principal).collect()
    };
    for tool in ["test.echo", "test.admin"] {
        let found = of(tool, "loopback");
        assert_eq!(found.len(), 2, "{found:#?}");
        assert_eq!((found[1]["kind"].as_str(), found[0]["kind"].as_str()), (Some("call"), Some("gathered")));
        assert_eq!(calls(found.into_iter()), 30);
    }
    assert_eq!(of("test.echo", "stdio").len(), 1);
    // Whoever reads the audit twice does not make it longer.
    let before = records.len();
    assert_eq!(pi.audit().await.len(), before);
    // The last ones are written by a stop.
    wire.call("test.echo", json!({ "nothing": 31 })).await.failed("invalid_argument");
    let path = pi.server().pipeline.services.store.path().to_owned();
    let copy = tempdir().unwrap();
    let server = pi.server();
    server.pipeline.services.audit.close().await.unwrap();
    std::fs::copy(&path, copy.path().join("store.db")).unwrap();
    assert_eq!(
        calls(
            pi.audit().await.iter().filter(|record| record["tool"] == "test.echo" && record["principal"] == "loopback")
        ),
        31
    );
}

#[tokio::test]
async fn refusals_cost_their_caller_and_not_its_good_calls_nor_others() {
    let pi = Pi::with(|settings| settings.limits.reads_per_minute = 60).await;
    let mut wire = pi.on(Door::Http).await;
    // More than a minute's worth of good calls of one tool: the rate of that tool, nothing else.
    for _ in 0..60 {
        wire.call("test.echo", json!({})).await.ok();
    }
    // It refills meanwhile, one a second.
    while wire.call("test.echo", json!({})).await.result()["isError"] != true {}
    let mut refused = 0;
    loop {
        let answer = wire.call("test.steps", json!({})).await;
        let error = answer.error();
        if error["error_code"] == "resource_exhausted" {
            assert!(error["details"]["retry_after_ms"].as_u64().is_some_and(|wait| wait <= 60_000), "{error}");
            break;
        }
        refused += 1;
        assert!(refused < 100, "nobody stops it");
    }
    assert!(refused >= 60, "{refused}");
    // Long arguments cost more: they are not even looked at after a few.
    let other = pi.stdio(Caller::new("token:other", Role::ReadOnly, Transport::Stdio));
    let mut other = other;
    other.call("test.echo", json!({})).await.ok();
    let long = "x".repeat(500_000);
    let mut looked_at = 0;
    while other.call("test.echo", json!({ "no": long })).await.is_refusal("invalid_argument") {
        looked_at += 1;
        assert!(looked_at < 10, "nobody stops it");
    }
    pi.call("test.echo", json!({})).await.ok();
}

#[tokio::test]
async fn ninety_calls_of_780_kb_by_anybody_on_loopback_erase_nothing() {
    let root = TempDir::new().unwrap();
    let (good, setting) = token("owner", Role::Admin);
    let config = root.path().join("site.toml");
    let text = format!(
        "[[access.tokens]]\nname = \"owner\"\nrole = \"admin\"\nsha256 = \"{}\"\n[audit]\nmax_bytes = 1048576\n[tools]\nenable = [\"gpio\"]\n",
        setting.sha256.hex()
    );
    std::fs::write(&config, text).unwrap();
    let mut server = Process::http_in(root, &["--config", config.to_str().unwrap()]).await;
    let url = format!("{}/api/mcp", server.url.as_ref().unwrap());
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::new();
    let post = async |token: Option<&str>, method: &str, params: &Value| -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let mut request = client.post(&url).header("content-type", "application/json").body(body);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        serde_json::from_slice(&soon(request.send()).await.unwrap().bytes().await.unwrap()).unwrap()
    };
    for n in 0..20 {
        let answer = post(Some(&good), "gpio.write_pin", &json!({"pin": 17, "value": n % 2})).await;
        assert!(answer["result"].is_object(), "{answer}");
    }
    let mut codes = std::collections::BTreeMap::new();
    for n in 0..90 {
        // Each takes 780 kB on the wire.
        let long = if n % 8 < 4 { "x".repeat(780_000) } else { "\u{1}".repeat(130_000) };
        // The three ways of the attack and a neighbour: what it may not do, what does not fit, what does not exist, and a good read.
        let answer = match n % 4 {
            0 => post(None, "gpio.write_pin", &json!({ "pin": long })).await,
            1 => post(None, "system.get_clock", &json!({ "x": long })).await,
            2 => post(None, "no.such_tool", &json!({ "x": long })).await,
            _ => post(None, "tools.search", &json!({ "query": long })).await,
        };
        *codes.entry(answer["error"]["data"]["error_code"].as_str().unwrap_or("ok").to_owned()).or_insert(0) += 1;
    }
    assert!(codes.contains_key("resource_exhausted") && !codes.contains_key("ok"), "{codes:?}");
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
    let path = server.path("state/store.db");
    let report = verify_file(&path, None).unwrap();
    assert!(report.ok && report.first_seq == 1, "{report:?}");
    let (largest, all) = stored(&path);
    assert!(largest <= 8192 && all < 100_000, "{largest} {all}");
    let filter = AuditFilter { principal: Some("token:owner".into()), ..AuditFilter::default() };
    let (records, total) = raspi_mcp::audit::recent_file(&path, &filter, 100).unwrap();
    assert_eq!((total, records.len()), (20, 20), "one entry a call");
}

#[tokio::test]
async fn nobody_pushes_out_the_records_of_others() {
    let (_dir, path, store, audit) = book(256 * 1024);
    let by = |principal: &'static str, n: usize| AuditRecord {
        principal: principal.into(),
        owner: None,
        outcome: "ok",
        approval: None,
        args: json!({ "text": "z".repeat(2000) }),
        ts_ms: i64::try_from(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap(),
        ..call("gpio.write_pin", n)
    };
    for n in 0..10 {
        audit.write(by("token:owner", n)).await.unwrap();
    }
    for n in 0..150 {
        audit.write(by("token:loud", n)).await.unwrap();
    }
    let rows = |principal: &str| -> (i64, i64) {
        let db = Connection::open(&path).unwrap();
        let sql = "SELECT count(*), sum(octet_length(body)) FROM audit WHERE principal = ?1";
        db.query_row(sql, [principal], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    };
    assert_eq!(rows("token:owner").0, 10);
    let (count, bytes) = rows("token:loud");
    assert!(count == 150 && bytes < 140_000, "{count} {bytes}");
    // A new start knows whose records are there, reads among them.
    drop(audit);
    drop(store);
    let audit = Audit::new(Store::open(&path).unwrap(), 256 * 1024, None);
    audit.write(by("token:owner", 11)).await.unwrap();
    let (_, before) = rows("token:loud");
    audit.write(by("token:loud", 11)).await.unwrap();
    assert!(rows("token:loud").1 - before < 1000, "its arguments are left out again");
    assert!(verify_file(&path, None).unwrap().ok);
}

#[tokio::test]
async fn a_write_is_recorded_before_it_is_done_and_shown_once() {
    let pi = Pi::with(|settings| settings.tools.enable.extend(["test".to_owned()])).await;
    pi.call("test.write", json!({})).await.ok();
    pi.call("test.write", json!({"dry_run": true})).await.ok();
    pi.call("test.write", json!({"dry_run": 1})).await.failed("invalid_argument");
    let shown: Vec<Value> = pi.audit().await.into_iter().filter(|record| record["tool"] == "test.write").collect();
    assert_eq!(shown.len(), 3, "{shown:#?}");
    assert_eq!([&shown[0]["outcome"], &shown[1]["outcome"], &shown[2]["outcome"]], ["invalid_argument", "ok", "ok"]);
    let path = pi.server().pipeline.services.store.path().to_owned();
    let db = Connection::open(&path).unwrap();
    let mut rows = db.prepare("SELECT seq, kind FROM audit WHERE tool = 'test.write' ORDER BY seq").unwrap();
    let rows: Vec<(i64, String)> =
        rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().collect::<Result<_, _>>().unwrap();
    let kinds: Vec<&str> = rows.iter().map(|(_, kind)| kind.as_str()).collect();
    assert_eq!(kinds, ["intent", "call", "call", "call"], "one that only tries, and one that is refused, have none");
    assert_eq!(shown[2]["intent"], rows[0].0);
    assert_eq!(unfinished(&path).unwrap().1, 0);
    assert!(verify_file(&path, None).unwrap().ok);
}

#[tokio::test]
async fn an_intent_without_an_outcome_is_shown_as_not_known() {
    let (_dir, path, _, audit) = book(1 << 20);
    let record = |n| AuditRecord { outcome: "unknown", approval: None, ..call("service.restart", n) };
    let first = audit.intend(record(1), Durability::Synced).await.unwrap();
    let second = audit.intend(record(2), Durability::Committed).await.unwrap();
    audit.write(AuditRecord { intent: Some(second), outcome: "ok", ..record(3) }).await.unwrap();
    let (shown, total) = audit.recent(AuditFilter::default(), 10, 0).await.unwrap();
    assert_eq!((total, &shown[0]["outcome"], &shown[1]["outcome"]), (2, &json!("ok"), &json!("unknown")));
    assert!(shown[1]["message"].as_str().unwrap().contains("not known"), "{shown:#?}");
    let count = async |outcome: &str| {
        let filter = AuditFilter { outcome: Some(outcome.into()), ..AuditFilter::default() };
        audit.recent(filter, 10, 0).await.unwrap().1
    };
    assert_eq!((count("ok").await, count("unknown").await), (1, 1));
    // Of a window that ends before the outcome, too.
    let until = AuditFilter { until_ms: Some(1_700_000_002_500), ..AuditFilter::default() };
    assert_eq!(audit.recent(until, 10, 0).await.unwrap().1, 1);
    let (named, all) = unfinished(&path).unwrap();
    assert_eq!((named.len(), all, named[0].seq, named[0].tool.as_str()), (1, 1, first, "service.restart"));
    assert!(verify_file(&path, None).unwrap().ok);
}

/// A server with a write that counts how often it was done, and its store, which waits for nobody.
async fn writing() -> (Pi, Store) {
    let pi = Pi::with(|settings| settings.tools.enable.extend(["test".to_owned()])).await;
    let store = pi.server().pipeline.services.store.clone();
    pi.server().pipeline.services.audit.flush().await.unwrap();
    store.run(|db| db.busy_timeout(Duration::ZERO)).await.unwrap();
    (pi, store)
}

/// Tries until the store's pause after a failure is over.
async fn until_done(pi: &Pi) {
    let trying = async {
        while pi.call("test.write", json!({})).await.result()["isError"] == true {
            tokio::task::yield_now().await;
        }
    };
    soon(trying).await;
}

#[tokio::test]
async fn a_locked_store_refuses_the_first_write_and_says_the_gap() {
    let (pi, store) = writing().await;
    let lock = Connection::open(store.path()).unwrap();
    lock.execute_batch("CREATE TABLE IF NOT EXISTS other (a); BEGIN IMMEDIATE; INSERT INTO other VALUES (1)").unwrap();
    let error = pi.call("test.write", json!({})).await.failed("unavailable").clone();
    assert!(error["message"].as_str().unwrap().contains("was not done"), "{error}");
    assert_eq!((&error["details"]["done"], pi.bench.ran()), (&json!(false), 0));
    // Reads go on, and the status says what is wrong.
    let status = pi.call("manage.get_server_status", json!({})).await;
    assert_eq!(status.ok()["audit"]["ok"], false);
    lock.execute_batch("COMMIT").unwrap();
    until_done(&pi).await;
    assert_eq!(pi.bench.ran(), 1);
    let db = Connection::open(store.path()).unwrap();
    let gap: String = db.query_row("SELECT body FROM audit WHERE kind = 'gap'", [], |row| row.get(0)).unwrap();
    let gap: Value = serde_json::from_str(&gap).unwrap();
    assert!(gap["lost"].as_u64().unwrap() > 0 && gap["reason"].as_str().unwrap().contains("locked"), "{gap}");
    assert_eq!(pi.call("manage.get_server_status", json!({})).await.ok()["audit"]["ok"], true);
}

#[tokio::test]
async fn a_full_store_refuses_the_first_write() {
    let (pi, store) = writing().await;
    let pages = |limit: i64| {
        move |db: &mut Connection| db.query_row(&format!("PRAGMA max_page_count = {limit}"), [], |_| Ok(()))
    };
    // Nothing more fits than what there is; rows that fit a page that is there already are not refused.
    store.run(pages(1)).await.unwrap();
    let mut refused = None;
    for _ in 0..50 {
        let before = pi.bench.ran();
        let answer = pi.call("test.write", json!({})).await;
        if answer.result()["isError"] == true {
            let error = answer.failed("unavailable").clone();
            if error["details"]["done"] == false {
                assert_eq!(pi.bench.ran(), before, "{error}");
                refused = Some(error);
                break;
            }
            assert_eq!(error["details"]["done"], true, "{error}");
        }
    }
    let refused = refused.expect("a full store takes no intent");
    assert!(refused["message"].as_str().unwrap().contains("was not done"), "{refused}");
    store.run(pages(1_000_000)).await.unwrap();
    until_done(&pi).await;
}

#[tokio::test]
async fn a_store_whose_file_is_gone_refuses_the_first_write() {
    let (pi, store) = writing().await;
    let aside = store.path().with_extension("aside");
    std::fs::rename(store.path(), &aside).unwrap();
    let error = pi.call("test.write", json!({})).await.failed("unavailable").clone();
    assert!(error["message"].as_str().unwrap().contains("removed or replaced"), "{error}");
    std::fs::write(store.path(), "another file").unwrap();
    assert_eq!(pi.bench.ran(), 0);
    std::fs::rename(&aside, store.path()).unwrap();
    until_done(&pi).await;
}

#[tokio::test]
async fn a_page_stops_where_an_answer_ends_and_says_where_to_go_on() {
    let (_dir, _, _, audit) = book(64 << 20);
    for n in 0..100 {
        audit
            .write(AuditRecord { args: json!({ "text": "z".repeat(5000) }), ..call("gpio.write_pin", n) })
            .await
            .unwrap();
    }
    let (mut offset, mut pages) = (0, 0);
    while offset < 100 {
        let page = audit.page(AuditFilter::default(), 1000, offset, 100_000).await.unwrap();
        let held: usize = page.records.iter().map(String::len).sum();
        assert!(held <= 100_000 && page.total == 100, "{held}");
        assert_eq!(page.cut, offset + (page.records.len() as u64) < 100);
        let first: Value = serde_json::from_str(&page.records[0]).unwrap();
        assert_eq!(first["request_id"], format!("n:{}", 99 - offset));
        offset += page.records.len() as u64;
        pages += 1;
    }
    assert!(pages > 4, "{pages}");
    // One that is larger than a page is a page.
    assert_eq!(audit.page(AuditFilter::default(), 10, 0, 10).await.unwrap().records.len(), 1);
}
