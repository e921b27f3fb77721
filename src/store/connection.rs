//! The connection on the store's thread, and what its commits promise.
//!
//! In WAL mode SQLite syncs the WAL at every commit (`FULL`), or only when it copies it into the file (`NORMAL`). A commit of
//! either kind is in the WAL when it returns, where every process sees it, whatever becomes of this one.

use base::error::ToolError;
use rusqlite::Connection;
use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// When a commit is safe from a power cut. From the end of this process it is safe in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// When it returns.
    Synced,
    /// After the next [`super::Store::sync`], or the next commit that is [`Durability::Synced`].
    Committed,
}

/// How the WAL is brought to the card; a test counts, or has no luck.
pub(super) type Sync = Box<dyn Fn(&File) -> io::Result<()> + Send>;

/// Device and inode.
type Identity = (u64, u64);

fn identity(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

pub(super) struct StoreConnection {
    pub(super) connection: Connection,
    path: PathBuf,
    /// Which files the connection has open, the WAL as soon as there is one: SQLite goes on writing into files that somebody
    /// has removed, where nobody will ever read it.
    files: [(PathBuf, Option<Identity>); 2],
    /// What SQLite is set to.
    durability: Durability,
    /// The WAL, open since before the first commit that was not synced: the kernel tells an open file of every failure to
    /// write it back, also of those before its sync. SQLite keeps one WAL for as long as the connection is open.
    wal: Option<File>,
    sync: Sync,
    /// A sync failed. The kernel forgets what it could not write, so that the next sync would succeed without it.
    suspect: bool,
}

impl StoreConnection {
    pub(super) fn new(connection: Connection, path: &Path, sync: Sync) -> Self {
        // The name by SQLite: beside what a link leads to.
        let file = connection.path().map_or_else(|| path.to_owned(), PathBuf::from);
        let mut wal = file.clone().into_os_string();
        wal.push("-wal");
        let files = [file, wal.into()].map(|file| {
            let found = identity(&file);
            (file, found)
        });
        // As `open::configure` left it.
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

    /// Whether what is written now can be found again.
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

    /// Readies the connection for commits that promise `durability`.
    pub(super) fn promise(&mut self, durability: Durability) -> Result<(), ToolError> {
        self.present()?;
        if self.suspect {
            self.heal()?;
        }
        if durability == Durability::Committed && self.wal.is_none() {
            self.wal = Some(self.open_wal().map_err(|error| self.not_synced(&error.to_string()))?);
        }
        // A switch is a statement to parse, as dear as a small commit; calls of one kind follow each other.
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

    /// Brings every commit to the card. What is no longer in the WAL was synced with the file, before SQLite began the WAL
    /// anew.
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

    /// Copies the whole WAL into the file, syncs that and empties the WAL: a frame that never reached the card would
    /// make all that come after it worthless.
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

    /// Closing it takes no lock from SQLite, as it would with the file itself: a WAL has none.
    fn open_wal(&self) -> io::Result<File> {
        File::open(&self.files[1].0)
    }

    fn not_synced(&self, why: &str) -> ToolError {
        ToolError::unavailable(format!("the store could not be brought to the card: {why}"))
            .with("path", self.path.display().to_string())
            .hint("the storage may be failing; look at the kernel's log")
    }
}
