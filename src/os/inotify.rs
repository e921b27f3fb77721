//! Waiting until something in a folder changes (inotify(7)), without waking up for anything else.

use super::readable;
use rustix::{
    fd::OwnedFd,
    fs::inotify::{CreateFlags, WatchFlags, add_watch, init, remove_watch},
    io::Errno,
};
use std::{
    io,
    path::{Path, PathBuf},
};
use tokio::io::unix::AsyncFd;

/// A folder, which need not be there yet.
pub struct Folder {
    path: PathBuf,
    events: AsyncFd<OwnedFd>,
    /// What is watched now, and by which number: the folder, or the nearest one above it that is there.
    watch: Option<(PathBuf, i32)>,
}

impl Folder {
    /// Must be called inside the runtime.
    ///
    /// # Errors
    /// Those of inotify_init1(2): too many instances of this user.
    pub fn new(path: &Path) -> io::Result<Self> {
        let events = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let mut folder = Self { path: path.to_owned(), events: readable::listen(events)?, watch: None };
        folder.settle()?;
        Ok(folder)
    }

    /// Returns once something in it may have changed: a file was put there, written or removed, or the folder itself came or went.
    ///
    /// # Errors
    /// Those of inotify_add_watch(2).
    pub async fn changed(&mut self) -> io::Result<()> {
        self.events.readable().await?.clear_ready();
        // What happened is not looked at: whoever waits looks at the files.
        readable::drain(self.events.get_ref())?;
        self.settle()
    }

    /// Watches the nearest folder that is there, until that is the one meant.
    fn settle(&mut self) -> io::Result<()> {
        let flags = WatchFlags::CLOSE_WRITE
            | WatchFlags::CREATE
            | WatchFlags::MOVE
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        for there in self.path.ancestors() {
            match add_watch(self.events.get_ref(), there, flags) {
                Ok(number) => {
                    let before = self.watch.replace((there.to_owned(), number));
                    // Gone already where its folder is.
                    if let Some((_, old)) = before.filter(|(_, old)| *old != number) {
                        let _ = remove_watch(self.events.get_ref(), old);
                    }
                    // The next one may have come since it was looked for.
                    if there == self.path || !self.below(there).is_dir() {
                        return Ok(());
                    }
                    return self.settle();
                }
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The next folder on the way from `there` to the one meant.
    fn below(&self, there: &Path) -> PathBuf {
        let rest = self.path.strip_prefix(there).ok().and_then(|rest| rest.components().next());
        rest.map_or_else(|| self.path.clone(), |next| there.join(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    async fn soon(folder: &mut Folder) {
        tokio::time::timeout(Duration::from_secs(10), folder.changed()).await.expect("it was changed").unwrap();
    }

    #[tokio::test]
    async fn a_change_is_noticed_also_in_a_folder_that_comes_later() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("etc/raspi-mcp");
        let mut folder = Folder::new(&path).unwrap();
        assert_eq!(folder.watch.as_ref().unwrap().0, root.path());
        std::fs::create_dir_all(&path).unwrap();
        soon(&mut folder).await;
        assert_eq!(folder.watch.as_ref().unwrap().0, path);
        std::fs::write(path.join("new"), "text").unwrap();
        soon(&mut folder).await;
        std::fs::remove_file(path.join("new")).unwrap();
        soon(&mut folder).await;
        std::fs::remove_dir(&path).unwrap();
        soon(&mut folder).await;
        assert_eq!(folder.watch.as_ref().unwrap().0, root.path().join("etc"));
        let still = tokio::time::timeout(Duration::from_millis(50), folder.changed()).await;
        // At most what the removal itself left in the queue.
        if still.is_ok() {
            let still = tokio::time::timeout(Duration::from_millis(50), folder.changed()).await;
            assert!(still.is_err(), "nothing happened, and it woke up");
        }
    }
}
