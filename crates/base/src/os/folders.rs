//! Waits for changes in folders (inotify(7)), including folders that do not exist yet. No polling.

use super::readable;
use rustix::{
    fs::inotify::{self, CreateFlags, WatchFlags},
    io::{Errno, read},
};
use std::{
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};
use tokio::io::unix::AsyncFd;

/// Files created, removed or written, and the folder itself.
const CHANGES: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// Creation of a folder that does not exist yet; added to an existing watch.
const COMING: WatchFlags =
    WatchFlags::CREATE.union(WatchFlags::MOVED_TO).union(WatchFlags::ONLYDIR).union(WatchFlags::MASK_ADD);

/// The watched folders.
#[derive(Debug)]
pub struct Folders {
    events: AsyncFd<OwnedFd>,
    folders: Vec<PathBuf>,
}

impl Folders {
    /// Watches from now on. Needs the runtime.
    ///
    /// # Errors
    /// The kernel's, such as the limit of watches per user.
    pub fn watch(folders: Vec<PathBuf>) -> io::Result<Self> {
        let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let watching = Self { events: readable::listen(events)?, folders };
        watching.again()?;
        Ok(watching)
    }

    /// Watches each folder, or its nearest existing parent. Existing watches stay.
    fn again(&self) -> io::Result<()> {
        for folder in &self.folders {
            // Until two checks agree: the folder may be created between the check and the watch of its parent.
            let mut nearest = self.settle(folder)?;
            while nearest.is_some_and(|at| at != folder) {
                let now = self.settle(folder)?;
                if now == nearest {
                    break;
                }
                nearest = now;
            }
        }
        Ok(())
    }

    /// Watches `folder` or its nearest existing parent, and returns which.
    fn settle<'a>(&self, folder: &'a Path) -> io::Result<Option<&'a Path>> {
        for at in folder.ancestors().filter(|at| !at.as_os_str().is_empty()) {
            let flags = if at == folder { CHANGES } else { COMING };
            match inotify::add_watch(self.events.get_ref(), at, flags) {
                Ok(_) => return Ok(Some(at)),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    /// Whether anything has changed since the last call. A single system call if not.
    pub fn changed(&self) -> bool {
        let mut bytes = [0; 4096];
        let mut any = false;
        loop {
            match read(self.events.get_ref(), &mut bytes) {
                Ok(length) if length > 0 => any = true,
                Err(Errno::INTR) => {}
                // No more events; other errors are reported by `ready` too.
                Ok(_) | Err(_) => break,
            }
        }
        if any && let Err(error) = self.again() {
            tracing::error!(%error, "changes of the configuration's folders may go unnoticed until the next start");
        }
        any
    }

    /// Returns when something may have changed.
    ///
    /// # Errors
    /// When the kernel's events cannot be read any more.
    pub async fn ready(&self) -> io::Result<()> {
        self.events.readable().await?.clear_ready();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    async fn soon(folders: &Folders) {
        let changed = async {
            loop {
                folders.ready().await.unwrap();
                if folders.changed() {
                    return;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(10), changed).await.expect("it was changed");
    }

    #[tokio::test]
    async fn a_change_is_noticed_also_in_a_folder_that_comes_later() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("etc/raspi-mcp");
        let folders = Folders::watch(vec![path.clone()]).unwrap();
        assert!(!folders.changed());
        std::fs::create_dir_all(&path).unwrap();
        soon(&folders).await;
        std::fs::write(path.join("new"), "text").unwrap();
        soon(&folders).await;
        std::fs::remove_file(path.join("new")).unwrap();
        soon(&folders).await;
        std::fs::remove_dir_all(root.path().join("etc")).unwrap();
        soon(&folders).await;
        // What the removal left in the queue.
        folders.changed();
        std::fs::create_dir_all(&path).unwrap();
        soon(&folders).await;
        std::fs::write(path.join("again"), "text").unwrap();
        soon(&folders).await;
        folders.changed();
        assert!(!folders.changed());
    }
}
