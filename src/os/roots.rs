//! The folders that `files.*` may reach, as the configuration names them, and the way into each.

use super::beneath::Beneath;
use crate::config::{FileRoot, sections::files::resolved};
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
    pub setting: FileRoot,
    /// Its path without symbolic links, as it was when the server started; a grant's is its path.
    pub resolved: PathBuf,
}

impl FolderRoot {
    /// A folder of a grant. Its path is taken as it is written: one that has a symbolic link in it cannot be opened.
    pub fn granted(path: &str, writable: bool) -> Self {
        Self { setting: FileRoot::granted(path, writable), resolved: path.into() }
    }

    /// Opens the folder. Once for each call: what is mounted or made there later counts.
    ///
    /// # Errors
    /// Those of [`Beneath::folder`].
    pub fn open(&self) -> Result<Beneath, Errno> {
        Beneath::folder(&self.resolved)
    }
}

impl Roots {
    /// The configured folders; links in their paths are followed now and never again.
    pub fn of(settings: &[FileRoot]) -> Self {
        let root = |setting: &FileRoot| FolderRoot { setting: setting.clone(), resolved: resolved(&setting.path) };
        Self { roots: settings.iter().map(root).map(Arc::new).collect(), ..Self::default() }
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
