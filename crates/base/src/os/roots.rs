//! The folders that `files.*` may access, from the configuration.

use super::beneath::Beneath;
use rustix::io::Errno;
use std::{path::PathBuf, sync::Arc};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// All of them.
#[derive(Default)]
pub struct FolderRoots {
    roots: Vec<Arc<FolderRoot>>,
    /// Held while files are changed, so that a check and the change that relies on it are not interleaved with another
    /// call.
    writing: Arc<Mutex<()>>,
}

/// One folder.
#[derive(Debug)]
pub struct FolderRoot {
    /// Its name for callers; a granted folder's is its path.
    pub name: String,
    /// Its absolute path, as in the configuration.
    pub path: PathBuf,
    /// Whether files may be written and deleted there.
    pub writable: bool,
    /// The largest file that may be read or written there, in bytes.
    pub max_bytes: u64,
    /// Whether the search index has its text files.
    pub indexed: bool,
    /// Its path with links resolved when the server started; a grant's is its path.
    pub resolved: PathBuf,
}

impl FolderRoot {
    /// Opens the folder, once per call, so that later mounts and folders are seen.
    ///
    /// # Errors
    /// Those of [`Beneath::folder`].
    pub fn open(&self) -> Result<Beneath, Errno> {
        Beneath::folder(&self.resolved)
    }
}

impl FolderRoots {
    /// The configured folders, in the order of the configuration.
    pub fn of(folders: impl IntoIterator<Item = FolderRoot>) -> Self {
        Self { roots: folders.into_iter().map(Arc::new).collect(), ..Self::default() }
    }

    /// In the order of the configuration.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<FolderRoot>> {
        self.roots.iter()
    }

    /// Waits for the lock for changes.
    pub async fn turn(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.writing).lock_owned().await
    }
}
