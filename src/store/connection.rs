//! The connection on the store's thread, and the durability of its commits.
//!
//! In WAL mode SQLite syncs the WAL at every commit (`FULL`), or only when it copies the WAL into the file (`NORMAL`).
//! In both modes the commit is in the WAL when it returns: all processes see it, and it survives the end of this one.

use base::error::ToolError;
use rusqlite::Connection;
use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// When a commit survives a power cut. It survives the end of this process in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// When it returns.
    Synced,
    /// After the next [`super::Store::sync`], or the next commit that is [`Durability::Synced`].
    Committed,
}

/// Returns free pages to the file system. Call it outside a transaction.
///
/// # Errors
/// Those of SQLite.
pub fn give_back(connection: &Connection) -> rusqlite::Result<()> {
    // It frees one page for each row, and `execute_batch` asks for one row.
    let mut freeing = connection.prepare("PRAGMA incremental_vacuum")?;
    let mut rows = freeing.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// How the WAL is synced; injectable for counting or failing.
pub(super) type Sync = Box<dyn Fn(&File) -> io::Result<()> + Send>;

/// Device and inode.
type Identity = (u64, u64);

fn identity(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

pub(super) struct StoreConnection {
    pub(super) connection: Connection,
    path: PathBuf,
    /// The files that the connection has open, including the WAL once it exists. If they are removed, SQLite continues
    /// to write to the deleted files, and the data is lost.
    files: [(PathBuf, Option<Identity>); 2],
    /// SQLite's current setting.
    durability: Durability,
    /// The WAL, opened before the first commit that was not synced: the kernel reports every failed write-back to an
    /// open file, including failures before its sync. SQLite keeps one WAL as long as the connection is open.
    wal: Option<File>,
    sync: Sync,
    /// A sync failed. The kernel discards what it could not write, so the next sync would falsely succeed.
    suspect: bool,
}

impl StoreConnection {
    pub(super) fn new(connection: Connection, path: &Path, sync: Sync) -> Self {
        // The name that SQLite uses: symbolic links are resolved.
        let file = connection.path().map_or_else(|| path.to_owned(), PathBuf::from);
        let mut wal = file.clone().into_os_string();
        wal.push("-wal");
        let files = [file, wal.into()].map(|file| {
            let found = identity(&file);
            (file, found)
        });
        // As set by `open::configure`.
        Self {
            connection,
            path: path.to_owned(),
            files,
            durability: Durability::Synced,
            wal: None,
            sync,
            suspect: false,
        }
    }

    /// Fails if an open file was removed or replaced.
    fn present(&mut self) -> Result<(), ToolError> {
        for (file, known) in &mut self.files {
            let found = identity(file);
            if known.is_some() && *known != found {
                let message = format!("{} was removed or replaced while the server runs", file.display());
                return Err(ToolError::unavailable(message)
                    .with("path", self.path.display().to_string())
                    .hint("put the file back, or restart the server to begin a new one"));
            }
            *known = found;
        }
        Ok(())
    }

    /// Prepares the connection for commits with `durability`.
    pub(super) fn promise(&mut self, durability: Durability) -> Result<(), ToolError> {
        self.present()?;
        if self.suspect {
            self.heal()?;
        }
        if durability == Durability::Committed && self.wal.is_none() {
            self.wal = Some(self.open_wal().map_err(|error| self.not_synced(&error.to_string()))?);
        }
        // A change is a statement to parse and costs as much as a small commit; similar calls follow each other.
        if self.durability != durability {
            let mode = match durability {
                Durability::Synced => "FULL",
                Durability::Committed => "NORMAL",
            };
            self.connection
                .pragma_update(None, "synchronous", mode)
                .map_err(|error| super::failed(&self.path, &error))?;
            self.durability = durability;
        }
        Ok(())
    }

    /// Syncs every commit. Frames no longer in the WAL were synced with the file before SQLite restarted the WAL.
    pub(super) fn sync(&mut self) -> Result<(), ToolError> {
        if self.suspect {
            return self.heal();
        }
        let Some(wal) = &self.wal else { return Ok(()) };
        (self.sync)(wal).map_err(|error| {
            self.suspect = true;
            self.not_synced(&error.to_string())
        })
    }

    /// Copies the whole WAL into the file, syncs the file and empties the WAL: a frame that was not written would
    /// invalidate all frames after it.
    fn heal(&mut self) -> Result<(), ToolError> {
        let busy: bool = self
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
            .map_err(|error| super::failed(&self.path, &error))?;
        if busy {
            return Err(self.not_synced("an earlier sync failed, and another program is reading the file"));
        }
        self.suspect = false;
        Ok(())
    }

    /// Closing the WAL drops no lock of SQLite, unlike closing the database file: the WAL has no locks.
    fn open_wal(&self) -> io::Result<File> {
        File::open(&self.files[1].0)
    }

    fn not_synced(&self, why: &str) -> ToolError {
        ToolError::unavailable(format!("the store could not be brought to the card: {why}"))
            .with("path", self.path.display().to_string())
            .hint("the storage may be failing; look at the kernel's log")
    }
}
