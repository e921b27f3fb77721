//! How routers were: samples in the store, from the reads of tools. Nothing is read for them alone.

use crate::{registry::context::Context, routeros::call::RouterCall, store::Durability};
use base::{clock::Stamp, error::ToolError};
use rusqlite::{Connection, params};
use serde_json::{Value, json};

/// The tools whose answers say how routers are.
pub const TOOLS: [&str; 2] = ["routeros.get_health_data", "routeros.get_fleet_summary"];

/// Shortest time between two samples of a router, in milliseconds.
const APART: i64 = 60_000;
/// Most samples of a router: a day at one a minute. With 256 routers, 20 MB.
const MOST: i64 = 1_440;
const HOUR: i64 = 3_600_000;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS routeros_health (id INTEGER PRIMARY KEY,
    device TEXT NOT NULL, at INTEGER NOT NULL, status TEXT NOT NULL, cpu REAL NOT NULL, memory REAL NOT NULL) STRICT;
    CREATE INDEX IF NOT EXISTS routeros_health_devices ON routeros_health (device, id);";
/// In the order in which they came: times may repeat when the clock is set.
const APPEND: &str = "INSERT INTO routeros_health (device, at, status, cpu, memory) SELECT ?1, ?2, ?3, ?4, ?5
    WHERE coalesce((SELECT abs(?2 - at) FROM routeros_health WHERE device = ?1 ORDER BY id DESC LIMIT 1), ?6) >= ?6";
const PRUNE: &str = "DELETE FROM routeros_health WHERE device = ?1 AND id <=
    (SELECT id FROM routeros_health WHERE device = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)";
const PAST: &str = "SELECT at, status, cpu, memory FROM routeros_health
    WHERE device = ?1 AND at >= ?2 AND at <= ?3 ORDER BY id";

/// How many hours of the past this call asks for.
pub fn hours(call: &RouterCall) -> Option<i64> {
    call.flag("include_history").then(|| i64::try_from(call.number("history_hours")).unwrap_or_default())
}

struct Sample {
    device: String,
    status: String,
    cpu: f64,
    memory: f64,
}

/// What `shown` says of `device`; nothing of a router that did not answer.
fn sample(device: &Value, shown: &Value) -> Option<Sample> {
    Some(Sample {
        device: device.as_str()?.to_owned(),
        status: shown["status"].as_str()?.to_owned(),
        cpu: shown["cpu_usage_percent"].as_f64()?,
        memory: shown["memory_usage_percent"].as_f64()?,
    })
}

/// Keeps what `answer` says, at most once a minute for each router, and adds the last `hours` to it.
///
/// # Errors
/// Those of the store, if `hours` were asked for.
pub async fn keep(cx: &Context, answer: &mut Value, hours: Option<i64>) -> Result<(), ToolError> {
    let now = cx.services.sampling.now_ms();
    let one = sample(&answer["device_id"], &answer["current_health"]);
    let many = answer["devices_summary"].as_array().into_iter().flatten();
    let samples: Vec<Sample> = one.into_iter().chain(many.filter_map(|at| sample(&at["device_id"], at))).collect();
    let kept = cx.services.store.run_as(Durability::Committed, move |store| append(store, &samples, now)).await;
    let (Some(hours), Some(device)) = (hours, answer["device_id"].as_str().map(str::to_owned)) else {
        if let Err(error) = kept {
            tracing::warn!(%error, "how the routers are could not be kept; their history has a gap");
        }
        return Ok(());
    };
    kept?;
    let past = move |store: &Connection| read(store, &device, now - hours * HOUR, now);
    answer["history"] = cx.services.store.look(past).await?.into();
    Ok(())
}

fn append(store: &mut Connection, samples: &[Sample], now: i64) -> rusqlite::Result<()> {
    if samples.is_empty() {
        return Ok(());
    }
    let transaction = store.transaction()?;
    transaction.execute_batch(TABLE)?;
    for Sample { device, status, cpu, memory } in samples {
        transaction.execute(APPEND, params![device, now, status, cpu, memory, APART])?;
        transaction.execute(PRUNE, params![device, MOST])?;
    }
    transaction.commit()
}

/// The samples of a router between these times, oldest first.
fn read(store: &Connection, device: &str, since: i64, until: i64) -> rusqlite::Result<Vec<Value>> {
    let mut statement = store.prepare(PAST)?;
    let rows = statement.query_map(params![device, since, until], |row| {
        Ok(json!({
            "timestamp": Stamp(row.get(0)?),
            "status": row.get::<_, String>(1)?,
            "cpu_usage_percent": row.get::<_, f64>(2)?,
            "memory_usage_percent": row.get::<_, f64>(3)?,
        }))
    })?;
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(store: &mut Connection, device: &str, now: i64) -> Vec<i64> {
        let sample = Sample { device: device.to_owned(), status: "healthy".to_owned(), cpu: 3.0, memory: 1.5 };
        append(store, &[sample], now).unwrap();
        let times = "SELECT at FROM routeros_health WHERE device = ?1 ORDER BY id";
        store.prepare(times).unwrap().query_map([device], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn one_a_minute_is_kept_and_the_oldest_go() {
        let mut store = Connection::open_in_memory().unwrap();
        assert_eq!(kept(&mut store, "attic", 0), [0]);
        assert_eq!(kept(&mut store, "attic", APART - 1), [0]);
        assert_eq!(kept(&mut store, "attic", APART), [0, APART]);
        assert_eq!(kept(&mut store, "cellar", APART + 5), [APART + 5], "each router has its own minute");
        let shown = read(&store, "attic", 1, APART).unwrap();
        assert_eq!(shown.len(), 1);
        assert_eq!((&shown[0]["cpu_usage_percent"], &shown[0]["memory_usage_percent"]), (&json!(3.0), &json!(1.5)));

        for minute in 2..MOST {
            kept(&mut store, "attic", minute * APART);
        }
        assert_eq!(kept(&mut store, "attic", MOST * APART).len() as i64, MOST);
        let times = kept(&mut store, "attic", (MOST + 1) * APART);
        assert_eq!((times.len() as i64, times[0], times[times.len() - 1]), (MOST, 2 * APART, (MOST + 1) * APART));
        assert_eq!(kept(&mut store, "cellar", 3 * APART).len(), 2);
    }

    #[test]
    fn a_clock_that_was_set_back_loses_nothing_and_shows_no_future() {
        let mut store = Connection::open_in_memory().unwrap();
        kept(&mut store, "attic", 100 * APART);
        assert_eq!(kept(&mut store, "attic", 7 * APART), [100 * APART, 7 * APART]);
        assert_eq!(read(&store, "attic", 0, 8 * APART).unwrap().len(), 1);
        assert_eq!(read(&store, "attic", 0, 200 * APART).unwrap().len(), 2);
    }
}
