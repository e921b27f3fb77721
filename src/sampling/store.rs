//! Jobs and blocks in SQLite.
//!
//! A block's key combines the number of its job and its own number, so that a job's blocks are adjacent and in order. A
//! new one is appended to them, which changes one page, seldom two. Tables are created with the first job.

use super::{
    metric::{COUNT, MetricKey, MetricSet, SENSORS},
    threshold::Threshold,
};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use std::{ops::Range, sync::Arc};

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS sampling_jobs (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        interval_seconds INTEGER NOT NULL,
        retention_hours INTEGER NOT NULL,
        metrics TEXT NOT NULL,
        created INTEGER NOT NULL,
        stopped INTEGER
    ) STRICT;
    CREATE TABLE IF NOT EXISTS samples (
        key INTEGER PRIMARY KEY,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        count INTEGER NOT NULL,
        block BLOB NOT NULL
    ) STRICT;";

/// Approximate size of a row without its block, in bytes.
const ROW: u32 = 32;

/// A job as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredJob {
    /// Its number in the store; never shown.
    pub number: u32,
    pub id: String,
    pub interval_seconds: u32,
    pub retention_hours: u32,
    /// With the places of its sensors.
    pub metrics: MetricSet,
    /// The names of its sensors, in the order of their places.
    pub sensors: Arc<[String]>,
    pub threshold: Option<Threshold>,
    pub created_ms: i64,
    pub stopped_ms: Option<i64>,
}

impl StoredJob {
    /// The column `metrics`: names of metrics and sensors, and the threshold, separated by commas. An older version leaves
    /// out what it does not know.
    fn names(&self) -> String {
        let mut names: Vec<String> = self.metrics.names().into_iter().map(str::to_owned).collect();
        names.extend(self.sensors.iter().map(|sensor| MetricKey::Sensor(sensor.clone()).name()));
        names.extend(self.threshold.as_ref().map(Threshold::written));
        names.join(",")
    }
}

/// What [`StoredJob::names`] wrote; a newer version may have known more.
fn named(column: &str) -> (MetricSet, Arc<[String]>, Option<Threshold>) {
    let (mut metrics, mut sensors, mut threshold) = (MetricSet::NONE, Vec::new(), None);
    for name in column.split(',') {
        match MetricKey::find(name) {
            _ if name.contains(['<', '>']) => threshold = Threshold::parse(name),
            Some(MetricKey::Known(metric)) => metrics = metrics.with(metric),
            Some(MetricKey::Sensor(sensor)) if sensors.len() < SENSORS => {
                metrics = metrics.with(COUNT + sensors.len());
                sensors.push(sensor);
            }
            _ => {}
        }
    }
    (metrics, sensors.into(), threshold)
}

/// Totals of a job's blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockTotals {
    pub samples: u64,
    pub bytes: u64,
    /// Start of the oldest block and end of the newest.
    pub first_ms: Option<i64>,
    pub last_ms: Option<i64>,
    /// The number of the next block.
    pub next: u32,
}

/// Samples to be stored.
#[derive(Debug)]
pub struct SampleBlock {
    pub job: u32,
    pub number: u32,
    pub first_ms: i64,
    pub last_ms: i64,
    pub count: u32,
    pub bytes: Vec<u8>,
}

impl SampleBlock {
    pub fn weight(&self) -> u64 {
        self.bytes.len() as u64 + u64::from(ROW)
    }
}

/// The keys of a job's blocks.
fn keys(job: u32) -> Range<i64> {
    i64::from(job) << 32..(i64::from(job) + 1) << 32
}

/// The key of one block.
pub fn key(job: u32, number: u32) -> i64 {
    i64::from(job) << 32 | i64::from(number)
}

/// Whether there ever was a job. Does not write to a new store.
pub fn exists(connection: &Connection) -> rusqlite::Result<bool> {
    let found = connection.query_row("SELECT 1 FROM sqlite_schema WHERE name = 'samples'", [], |_| Ok(()));
    Ok(found.optional()?.is_some())
}

/// Every job, in the order they were started.
pub fn load(connection: &mut Connection) -> rusqlite::Result<Vec<(StoredJob, BlockTotals)>> {
    if !exists(connection)? {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare("SELECT * FROM sampling_jobs ORDER BY number")?;
    let jobs = statement.query_map([], |row| {
        let (metrics, sensors, threshold) = named(&row.get::<_, String>("metrics")?);
        Ok(StoredJob {
            number: row.get("number")?,
            id: row.get("id")?,
            interval_seconds: row.get("interval_seconds")?,
            retention_hours: row.get("retention_hours")?,
            metrics,
            sensors,
            threshold,
            created_ms: row.get("created")?,
            stopped_ms: row.get("stopped")?,
        })
    })?;
    let jobs = jobs.collect::<rusqlite::Result<Vec<_>>>()?;
    jobs.into_iter().map(|job| tally(connection, job.number).map(|tally| (job, tally))).collect()
}

/// SQLite's integers are signed; no value here is negative.
fn unsigned(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(|number| u64::try_from(number).unwrap_or(0))
}

/// Totals of one job's blocks.
pub fn tally(connection: &Connection, job: u32) -> rusqlite::Result<BlockTotals> {
    let keys = keys(job);
    let mut statement = connection.prepare_cached(
        "SELECT coalesce(sum(count), 0), coalesce(sum(octet_length(block) + ?3), 0), max(key),
            (SELECT first FROM samples WHERE key >= ?1 AND key < ?2 ORDER BY key LIMIT 1),
            (SELECT last FROM samples WHERE key >= ?1 AND key < ?2 ORDER BY key DESC LIMIT 1)
         FROM samples WHERE key >= ?1 AND key < ?2",
    )?;
    statement.query_row(params![keys.start, keys.end, ROW], |row| {
        let newest: Option<i64> = row.get(2)?;
        let number = newest.and_then(|key| u32::try_from(key & 0xffff_ffff).ok());
        Ok(BlockTotals {
            samples: unsigned(row, 0)?,
            bytes: unsigned(row, 1)?,
            first_ms: row.get(3)?,
            last_ms: row.get(4)?,
            next: number.map_or(0, |number| number.saturating_add(1)),
        })
    })
}

/// Stores a new job, or replaces the one with that number.
pub fn begin(connection: &mut Connection, job: &StoredJob) -> rusqlite::Result<()> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute_batch(SCHEMA)?;
    tx.execute(
        "INSERT INTO sampling_jobs (number, id, interval_seconds, retention_hours, metrics, created) VALUES (?,?,?,?,?,?)
         ON CONFLICT (number) DO UPDATE SET interval_seconds = excluded.interval_seconds,
            retention_hours = excluded.retention_hours, metrics = excluded.metrics, stopped = NULL",
        params![
            job.number,
            job.id,
            job.interval_seconds,
            job.retention_hours,
            job.names(),
            job.created_ms
        ],
    )?;
    tx.commit()
}

/// Stores that a job has ended.
pub fn end(connection: &mut Connection, job: u32, stopped_ms: i64) -> rusqlite::Result<()> {
    connection.execute("UPDATE sampling_jobs SET stopped = ?2 WHERE number = ?1", params![job, stopped_ms]).map(drop)
}

/// Deletes a job and all its samples, and returns their space to the file system.
pub fn forget(connection: &mut Connection, job: u32) -> rusqlite::Result<()> {
    let keys = keys(job);
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute("DELETE FROM samples WHERE key >= ?1 AND key < ?2", params![keys.start, keys.end])?;
    tx.execute("DELETE FROM sampling_jobs WHERE number = ?1", [job])?;
    tx.commit()?;
    crate::store::give_back(connection)
}

/// Appends blocks in one transaction, so that any number of them costs one sync.
pub fn append(connection: &mut Connection, blocks: &[SampleBlock]) -> rusqlite::Result<()> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let mut statement =
            tx.prepare_cached("INSERT INTO samples (key, first, last, count, block) VALUES (?,?,?,?,?)")?;
        for block in blocks {
            statement.execute(params![
                key(block.job, block.number),
                block.first_ms,
                block.last_ms,
                block.count,
                block.bytes
            ])?;
        }
    }
    tx.commit()
}

/// Which of a job's oldest blocks are to be deleted.
#[derive(Clone, Copy, Debug)]
pub struct PruneLimits {
    pub job: u32,
    /// Blocks that ended before this.
    pub before_ms: i64,
    /// Blocks beyond this many samples: if the clock ran ahead, some would otherwise stay for years.
    pub samples: u64,
    pub bytes: u64,
}

/// Deletes the oldest blocks of one job until it is within its limits; returns the remaining totals.
pub fn prune(connection: &mut Connection, limits: PruneLimits, has: BlockTotals) -> rusqlite::Result<BlockTotals> {
    let (keys, mut left) = (keys(limits.job), has);
    let mut through = None;
    {
        let mut statement = connection.prepare_cached(
            "SELECT key, last, count, octet_length(block) + ?3 FROM samples WHERE key >= ?1 AND key < ?2 ORDER BY key",
        )?;
        let mut rows = statement.query(params![keys.start, keys.end, ROW])?;
        while let Some(row) = rows.next()? {
            let (last, count, bytes): (i64, _, _) = (row.get(1)?, unsigned(row, 2)?, unsigned(row, 3)?);
            if last >= limits.before_ms && left.samples <= limits.samples && left.bytes <= limits.bytes {
                break;
            }
            left.samples = left.samples.saturating_sub(count);
            left.bytes = left.bytes.saturating_sub(bytes);
            through = Some(row.get::<_, i64>(0)?);
        }
    }
    let Some(through) = through else { return Ok(has) };
    connection.execute("DELETE FROM samples WHERE key >= ?1 AND key <= ?2", params![keys.start, through])?;
    let mut oldest =
        connection.prepare_cached("SELECT first FROM samples WHERE key >= ?1 AND key < ?2 ORDER BY key LIMIT 1")?;
    left.first_ms = oldest.query_row([keys.start, keys.end], |row| row.get(0)).optional()?;
    left.last_ms = left.last_ms.filter(|_| left.first_ms.is_some());
    Ok(left)
}

/// Passes a job's blocks that may hold samples of `times` to `visit`, oldest first, from key `from` on and before block
/// number `before`; at most `most` of them. Returns the key to continue from, if there may be more.
pub fn each(
    connection: &Connection,
    from: i64,
    before: i64,
    times: &Range<i64>,
    most: u32,
    mut visit: impl FnMut(&[u8]),
) -> rusqlite::Result<Option<i64>> {
    let mut statement = connection.prepare_cached(
        "SELECT key, block FROM samples WHERE key >= ?1 AND key < ?2 AND last >= ?3 AND first < ?4
         ORDER BY key LIMIT ?5",
    )?;
    let mut rows = statement.query(params![from, before, times.start, times.end, most])?;
    let (mut seen, mut newest) = (0, from);
    while let Some(row) = rows.next()? {
        newest = row.get(0)?;
        visit(row.get_ref(1)?.as_blob().unwrap_or_default());
        seen += 1;
    }
    Ok((seen == most).then_some(newest + 1))
}

/// The first key of a job.
pub fn first_key(job: u32) -> i64 {
    keys(job).start
}
