//! The file of the index. It can be made again at any time: a damaged or older one is replaced.

use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::{
    fs::{self, OpenOptions, Permissions},
    io,
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// Chunks of both corpora, at most.
pub const MAX_CHUNKS: i64 = 20_000;
/// Bytes of the file, at most.
pub const MAX_BYTES: i64 = 32 << 20;

const PAGE: i64 = 4096;
/// Raised when the tables or the cutting of texts change: an index of another version is made again.
const VERSION: i64 = 1;

/// Words are kept beside their stems, for spelling: `documents` counts the chunks that have one.
const TABLES: &str = "
    CREATE TABLE documents (
        id INTEGER PRIMARY KEY, corpus TEXT NOT NULL, namespace TEXT NOT NULL, path TEXT NOT NULL,
        size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL, etag TEXT NOT NULL, lang TEXT,
        UNIQUE (corpus, namespace, path));
    CREATE TABLE chunks (
        id INTEGER PRIMARY KEY, document INTEGER NOT NULL, line_start INTEGER NOT NULL, line_end INTEGER NOT NULL);
    CREATE INDEX chunks_of ON chunks (document);
    CREATE TABLE manual_words (word TEXT PRIMARY KEY, chunks INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE files_words (word TEXT PRIMARY KEY, chunks INTEGER NOT NULL) WITHOUT ROWID;
    CREATE VIRTUAL TABLE manual USING fts5(title, text, tokenize = 'porter unicode61 remove_diacritics 2');
    CREATE VIRTUAL TABLE files USING fts5(title, text, tokenize = 'porter unicode61 remove_diacritics 2');
";

/// An open index. One connection: whoever has it reads and writes.
pub struct SearchIndex {
    pub(crate) connection: Connection,
}

impl SearchIndex {
    /// Opens the index at `path`, or makes an empty one there. The folder exists.
    ///
    /// # Errors
    /// Those of SQLite and of the file system.
    pub fn open(path: &Path) -> rusqlite::Result<Self> {
        match Self::at(path) {
            Err(error) if is_damaged(&error) => {
                remove(path).map_err(|_| error)?;
                Self::at(path)
            }
            opened => opened,
        }
    }

    /// An index in memory, of the same form.
    ///
    /// # Errors
    /// Those of SQLite: out of memory.
    pub fn in_memory() -> rusqlite::Result<Self> {
        Self::of(Connection::open_in_memory()?)
    }

    fn at(path: &Path) -> rusqlite::Result<Self> {
        keep_private(path).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Self::of(Connection::open_with_flags(path, flags)?)
    }

    fn of(mut connection: Connection) -> rusqlite::Result<Self> {
        // Losing the last moments before a power cut is no loss: the next scan finds the difference.
        connection.execute_batch(&format!(
            "PRAGMA page_size = {PAGE}; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -1024;
             PRAGMA journal_size_limit = 1048576; PRAGMA max_page_count = {};",
            MAX_BYTES / PAGE
        ))?;
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if version != VERSION {
            let tx = connection.transaction()?;
            for table in ["documents", "chunks", "manual_words", "files_words", "manual", "files"] {
                tx.execute_batch(&format!("DROP TABLE IF EXISTS {table}"))?;
            }
            tx.execute_batch(TABLES)?;
            tx.execute_batch(&format!("PRAGMA user_version = {VERSION}"))?;
            tx.commit()?;
        }
        Ok(Self { connection })
    }

    /// Bytes of the file that are in use.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn bytes(&self) -> rusqlite::Result<i64> {
        let number = |pragma: &str| self.connection.query_row(pragma, [], |row| row.get::<_, i64>(0));
        Ok((number("PRAGMA page_count")? - number("PRAGMA freelist_count")?) * PAGE)
    }
}

/// The texts of indexed files are in it: nobody but its owner reads it, also where an earlier version made it. SQLite gives the
/// files beside it the same mode.
fn keep_private(path: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    for ending in BESIDE {
        let file = beside(path, ending);
        match fs::metadata(&file) {
            Ok(about) if about.permissions().mode() & 0o177 != 0 => {
                fs::set_permissions(&file, Permissions::from_mode(0o600))?;
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The endings of the files of an index.
const BESIDE: [&str; 3] = ["-wal", "-shm", ""];

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Whether the file is not one that SQLite can use.
fn is_damaged(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}

fn remove(path: &Path) -> io::Result<()> {
    for ending in BESIDE {
        match fs::remove_file(beside(path, ending)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
