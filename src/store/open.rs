//! Opens the store's file: settings, integrity check, and replacement of a damaged file.

use base::error::ToolError;
use rusqlite::{Connection, OpenFlags};
use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

/// The result of opening the store. Shown by health.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenReport {
    pub state: OpenOutcome,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenOutcome {
    /// There was no file.
    Created,
    /// The file passed its check.
    Good,
    /// The file was damaged: it was moved to `set_aside` and replaced by a new one.
    Replaced { set_aside: PathBuf, reason: String },
    /// Neither the old file nor a new one can be used; queries are refused.
    Failed { reason: String },
}

impl OpenReport {
    /// The error of a query when no file is open.
    pub fn unavailable(&self, path: &Path) -> ToolError {
        let reason = match &self.state {
            OpenOutcome::Failed { reason } => reason.as_str(),
            _ => "not opened",
        };
        ToolError::unavailable(format!("the store {} cannot be opened: {reason}", path.display()))
            .with("path", path.display().to_string())
            .hint("make the state directory writable for the server, or set places.state_dir")
    }

    pub(super) fn log(&self, path: &Path) {
        let path = path.display();
        match &self.state {
            OpenOutcome::Created | OpenOutcome::Good => tracing::debug!(%path, state = ?self.state, "store open"),
            OpenOutcome::Replaced { set_aside, reason } => {
                tracing::error!(%path, set_aside = %set_aside.display(), reason, "damaged store set aside, new one begun");
            }
            OpenOutcome::Failed { reason } => tracing::error!(%path, reason, "store cannot be opened"),
        }
    }
}

/// Opens and checks the file, and replaces it if needed.
pub(super) fn open(path: &Path) -> (Option<Connection>, OpenReport) {
    let (connection, state) = match attempt(path) {
        Ok((connection, state)) => (Some(connection), state),
        Err(reason) => (None, OpenOutcome::Failed { reason }),
    };
    (connection, OpenReport { state })
}

fn attempt(path: &Path) -> Result<(Connection, OpenOutcome), String> {
    if let Some(folder) = path.parent() {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    }
    let existed = path.exists();
    if !existed {
        // Readable by this user only; SQLite gives its companion files the same mode. A failure here shows when SQLite
        // opens the file.
        let _ = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    }
    match configure(path) {
        Ok(connection) if existed => Ok((connection, OpenOutcome::Good)),
        Ok(connection) => Ok((connection, OpenOutcome::Created)),
        Err(fault) if !existed || !fault.damaged => Err(fault.reason),
        Err(fault) => {
            let set_aside =
                set_aside(path).map_err(|error| format!("{}; it cannot be set aside either: {error}", fault.reason))?;
            let connection = configure(path).map_err(|again| again.reason)?;
            Ok((connection, OpenOutcome::Replaced { set_aside, reason: fault.reason }))
        }
    }
}

struct Fault {
    reason: String,
    /// The content is damaged, and not merely inaccessible: only then may the file be replaced.
    damaged: bool,
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        let damaged = matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase));
        Self { reason: error.to_string(), damaged }
    }
}

fn configure(path: &Path) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    // Returns space freed by trimming to the file system. Must be set before the first table is created.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // Every commit is on the card when it returns, as the audit promises, unless its job needs less (see
    // `super::connection`).
    connection.pragma_update(None, "synchronous", "FULL")?;
    // Negative: KiB. The default of 2 MiB is a sixth of the server's whole memory; records are mostly appended and
    // seldom searched.
    connection.pragma_update(None, "cache_size", -128)?;
    connection.pragma_update(None, "journal_size_limit", 1 << 20)?;
    // Checkpoint the WAL every 256 pages (1 MiB).
    connection.pragma_update(None, "wal_autocheckpoint", 256)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict != "ok" {
        return Err(Fault { reason: verdict.replace('\n', "; "), damaged: true });
    }
    Ok(connection)
}

/// Most damaged files kept beside the store. The next one is not moved: the store stays closed, which also blocks every
/// write, until an owner accepts the loss.
const MAX_ASIDE: usize = 4;
const DAMAGED: &str = ".corrupt-";
/// Suffix of damaged files whose loss an owner accepted: the oldest are deleted to make room for another.
const SETTLED: &str = ".accepted-";

/// Renames the file and its WAL. They are evidence and are deleted only after an owner accepted the loss. Renaming
/// needs no space, so it also works on a full card.
fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut settled = aside(path, SETTLED)?;
    let damaged = aside(path, DAMAGED)?.len();
    if damaged >= MAX_ASIDE {
        return Err(io::Error::other(format!(
            "{damaged} damaged files lie beside it already; see what is missing with `raspi-mcp audit verify`, accept it \
             with `raspi-mcp audit accept-gap`, and restart the server"
        )));
    }
    while damaged + settled.len() >= MAX_ASIDE && !settled.is_empty() {
        let (_, oldest) = settled.remove(0);
        for suffix in COMPANIONS {
            remove(&with_suffix(&oldest, suffix))?;
        }
    }
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let free = (seconds..).map(|number| path.with_file_name(format!("{name}{DAMAGED}{number}")));
    let aside = free.into_iter().find(|name| !name.exists()).unwrap_or_else(|| path.to_owned());
    // The file itself last: after a power cut in between, the rest is moved at the next start.
    for suffix in COMPANIONS.iter().rev() {
        rename(&with_suffix(path, suffix), &with_suffix(&aside, suffix))?;
    }
    Ok(aside)
}

/// Marks the damaged files beside `path` that existed at `until_ms` as accepted by an owner, so that they may be
/// deleted. Files that cannot be renamed are left unchanged.
pub fn settle(path: &Path, until_ms: i64) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for (seconds, file) in aside(path, DAMAGED).unwrap_or_default() {
        if i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1000) > until_ms {
            continue;
        }
        let to = path.with_file_name(format!("{name}{SETTLED}{seconds}"));
        for suffix in COMPANIONS {
            if let Err(error) = rename(&with_suffix(&file, suffix), &with_suffix(&to, suffix)) {
                tracing::warn!(file = %file.display(), %error, "a damaged store could not be marked as accepted");
            }
        }
    }
}

/// Suffixes of a store's file and of the companion files of SQLite.
const COMPANIONS: [&str; 3] = ["", "-wal", "-shm"];

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The files beside `path` with `mark` and a number in their names, lowest number first.
fn aside(path: &Path, mark: &str) -> io::Result<Vec<(u64, PathBuf)>> {
    let prefix = format!("{}{mark}", path.file_name().unwrap_or_default().to_string_lossy());
    let Some(folder) = path.parent() else { return Ok(Vec::new()) };
    let mut found: Vec<(u64, PathBuf)> = fs::read_dir(folder)?
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.strip_prefix(&prefix)?.parse().ok()?, entry.path())))
        .collect();
    base::sort::sort(&mut found);
    Ok(found)
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    absent_is_fine(fs::rename(from, to))
}

fn remove(path: &Path) -> io::Result<()> {
    absent_is_fine(fs::remove_file(path))
}

fn absent_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Closes the connection. A failure is only logged: the data is in the WAL.
pub(super) fn close(connection: Connection) {
    if let Err((_, error)) = connection.close() {
        tracing::warn!(%error, "store did not close cleanly");
    }
}
