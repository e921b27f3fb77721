//! The folders that `files.*` may reach, as the configuration names them, and the way into each.

use super::beneath::Beneath;
use rustix::io::Errno;
use std::{path::PathBuf, sync::Arc};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// All of them.
#[derive(Default)]
pub struct Roots {
    roots: Vec<Arc<FolderRoot>>,
    /// Held by whoever changes files: two calls never meet between a check and the change that relies on it.
    writing: Arc<Mutex<()>>,
}

/// One folder.
#[derive(Debug)]
pub struct FolderRoot {
    /// What callers call it: of a granted folder, its path.
    pub name: String,
    /// Its full path, as the configuration has it.
    pub path: PathBuf,
    /// Whether files may be written and deleted there.
    pub writable: bool,
    /// The largest file that is read or written there, in bytes.
    pub max_bytes: u64,
    /// Its path without symbolic links, as it was when the server started; a grant's is its path.
    pub resolved: PathBuf,
}

impl FolderRoot {
    /// Opens the folder. Once for each call: what is mounted or made there later counts.
    ///
    /// # Errors
    /// Those of [`Beneath::folder`].
    pub fn open(&self) -> Result<Beneath, Errno> {
        Beneath::folder(&self.resolved)
    }
}

impl Roots {
    /// The configured folders, in the order of the configuration.
    pub fn of(folders: impl IntoIterator<Item = FolderRoot>) -> Self {
        Self { roots: folders.into_iter().map(Arc::new).collect(), ..Self::default() }
    }

    /// In the order of the configuration.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<FolderRoot>> {
        self.roots.iter()
    }

    /// The turn to change files; one at a time.
    pub async fn turn(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.writing).lock_owned().await
    }
}
