//! Every known way to rewrite the past, from tests/fixtures/audit/rewritten.json: `verify` finds it and says where.

use super::{
    heads::{audit_of, followed, write},
    sql_json::with_json,
    *,
};
use contract::audit::KnownHeads;
use raspi_mcp::audit::{AuditReport, verify};
use rusqlite::Connection;
use sha2::{Digest, Sha256};
use std::path::PathBuf;

/// A store that the agent has followed.
struct Original {
    pi: Pi,
    path: PathBuf,
    known: KnownHeads,
}

impl Original {
    async fn of(kind: &str) -> Self {
        let max = if kind == "trimmed" { 40_000 } else { 1 << 20 };
        // Marks stand close, so that the place is told closely.
        let pi = Pi::with(|settings| settings.audit_max_bytes = if kind == "trimmed" { max } else { 64 << 10 });
        let (audit, path) = audit_of(&pi, max);
        match kind {
            "reads" => {
                for n in 0..5 {
                    audit.read(super::super::access::call("gpio.read_pin", n)).await;
                }
                audit.flush().await.unwrap();
                write(&audit, 29).await;
            }
            "trimmed" => write(&audit, 150).await,
            _ => write(&audit, 30).await,
        }
        followed(&pi, &path).await;
        let known = pi.server().get::<op::audit::ListHeads>().await.unwrap();
        Self { pi, path, known }
    }

    fn verdict(&self, number: usize, row: &Value) -> AuditReport {
        let copy = self.pi.dir.path().join(format!("copy-{number}.db"));
        let whole = Connection::open(&self.path).unwrap();
        whole.execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
        let db = Connection::open(&copy).unwrap();
        with_json(&db);
        db.execute_batch(row["sql"].as_str().unwrap()).unwrap_or_else(|error| panic!("{row}: {error}"));
        if let Some(from) = row["rehash"][0].as_i64() {
            rehash(&db, from, row["rehash"][1].as_i64().unwrap_or(i64::MAX));
        }
        verify(&db, Some(&self.known), self.path.to_str()).unwrap()
    }
}

/// As the server would: it has no secret.
fn rehash(db: &Connection, from: i64, through: i64) {
    let mut rows = db.prepare("SELECT seq, hash, CAST(body AS BLOB) FROM audit ORDER BY seq").unwrap();
    let rows: Vec<(i64, Vec<u8>, Vec<u8>)> =
        rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap().map(Result::unwrap).collect();
    // Of a chain that was trimmed: what its checkpoint says.
    let cut =
        "SELECT json_extract(body, '$.through_hash') FROM audit WHERE kind = 'checkpoint' ORDER BY seq DESC LIMIT 1";
    let mut previous = match rows.first() {
        Some((1, ..)) | None => vec![0; 32],
        _ => db
            .query_row(cut, [], |row| row.get::<_, String>(0))
            .ok()
            .and_then(|text| base::canonical::from_hex(&text))
            .unwrap_or_default(),
    };
    for (seq, hash, body) in rows {
        previous = match (from..=through).contains(&seq) {
            true => Sha256::new().chain_update(&previous).chain_update(&body).finalize().to_vec(),
            false => hash,
        };
        db.execute("UPDATE audit SET hash = ?1 WHERE seq = ?2", rusqlite::params![previous, seq]).unwrap();
    }
}

fn table() -> Value {
    serde_json::from_str(include_str!("../../fixtures/audit/rewritten.json")).unwrap()
}

async fn each(part: &str, check: impl Fn(&Value, AuditReport)) {
    let table = table();
    for kind in ["whole", "reads", "trimmed"] {
        let original = Original::of(kind).await;
        let rows = table[part].as_array().unwrap().iter().enumerate();
        for (number, row) in rows.filter(|(_, row)| row["of"] == kind) {
            check(row, original.verdict(number, row));
        }
    }
}

#[tokio::test]
async fn every_kind_of_rewritten_past_is_found_and_its_place_named() {
    assert!(table()["rewritten"].as_array().unwrap().len() >= 40);
    each("rewritten", |row, report| {
        let kind = &row["kind"];
        assert!(!report.ok, "{kind} passes: {report:?}");
        let reason = report.reason.as_deref().unwrap_or_default();
        assert!(reason.contains(row["says"].as_str().unwrap()), "{kind}: {report:?}");
        match (&row["at"], report.break_at) {
            (Value::Null, at) => assert_eq!(at, None, "{kind}: {report:?}"),
            (Value::Array(range), Some(at)) => {
                let [first, last] = [0, 1].map(|place| range[place].as_i64().unwrap());
                assert!((first..=last).contains(&at), "{kind}: {report:?}");
            }
            (_, at) => assert!(at.is_some(), "{kind}: {report:?}"),
        }
    })
    .await;
}

#[tokio::test]
async fn what_was_not_rewritten_passes() {
    each("as_written", |row, report| assert!(report.ok, "{}: {report:?}", row["kind"])).await;
}
