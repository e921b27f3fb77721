//! The folders that `files.*` may access, from the configuration.

use super::{beneath::Beneath, blocking::StopSignal};
use rustix::io::Errno;
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// How many calls may be given up on while they wait for the file system of one root. Each keeps a thread until it
/// answers, of 512 that all blocking work has; a further call is refused at once.
const MOST_STUCK: usize = 4;

/// All of them.
#[derive(Default)]
pub struct FolderRoots {
    roots: Vec<Arc<FolderRoot>>,
    /// By device: held while files are changed, so that a check and the change that relies on it are not interleaved
    /// with another call. Devices are apart, so that one that never answers keeps no other waiting.
    writing: Mutex<HashMap<u64, Arc<AsyncMutex<()>>>>,
    visits: Arc<Mutex<Vec<(u64, PathBuf, StopSignal)>>>,
}

/// Work below a root, until it is dropped.
pub struct Visit {
    number: u64,
    visits: Arc<Mutex<Vec<(u64, PathBuf, StopSignal)>>>,
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        visits.retain(|(number, ..)| *number != self.number);
    }
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

    /// Waits for the lock for changes on the device ([`Beneath::device`]).
    pub async fn turn(&self, device: u64) -> OwnedMutexGuard<()> {
        self.turn_of(device).lock_owned().await
    }

    fn turn_of(&self, device: u64) -> Arc<AsyncMutex<()>> {
        let mut all = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(device).or_default())
    }

    /// Notes that work begins below `root`, to be called by the work itself. `None` while too many calls that were given
    /// up on still wait for its file system: four of one root.
    pub fn visit(&self, root: &FolderRoot, stop: &StopSignal) -> Option<Visit> {
        let mut visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        let stuck = visits.iter().filter(|(_, path, stop)| *path == root.resolved && stop.check().is_err()).count();
        if stuck >= MOST_STUCK {
            return None;
        }
        let number = visits.last().map_or(0, |(number, ..)| number + 1);
        visits.push((number, root.resolved.clone(), stop.clone()));
        Some(Visit { number, visits: Arc::clone(&self.visits) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::blocking;
    use std::{
        sync::mpsc::{Sender, channel},
        time::Duration,
    };

    fn root(path: &str) -> FolderRoot {
        FolderRoot {
            name: path.into(),
            path: path.into(),
            writable: true,
            max_bytes: 1,
            indexed: false,
            resolved: path.into(),
        }
    }

    #[tokio::test]
    async fn a_turn_on_one_device_keeps_no_other_waiting() {
        let roots = FolderRoots::default();
        let first = roots.turn(1).await;
        let _other = roots.turn(2).await;
        assert!(tokio::time::timeout(Duration::from_millis(20), roots.turn(1)).await.is_err());
        drop(first);
        let _again = roots.turn(1).await;
    }

    /// A call that waits for a file system until the sender is dropped, and was given up on.
    async fn given_up(roots: &Arc<FolderRoots>, path: &'static str) -> Sender<()> {
        let (answers, waits) = channel::<()>();
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let all = Arc::clone(roots);
        let call = tokio::spawn(blocking::run("files", move |stop| {
            let _visit = all.visit(&root(path), stop);
            let _ = begun.send(());
            let _ = waits.recv();
            Ok(())
        }));
        has_begun.await.unwrap();
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        answers
    }

    #[tokio::test]
    async fn a_root_that_never_answers_takes_few_threads_and_is_refused_until_it_does() {
        let roots = Arc::new(FolderRoots::default());
        let refuses = |path| roots.visit(&root(path), &StopSignal::of("files")).is_none();
        let mut stuck = Vec::new();
        for _ in 0..MOST_STUCK {
            assert!(!refuses("/dead"));
            stuck.push(given_up(&roots, "/dead").await);
        }
        assert!(refuses("/dead") && !refuses("/alive"));
        let busy: Vec<_> =
            (0..2 * MOST_STUCK).map(|_| roots.visit(&root("/alive"), &StopSignal::of("files"))).collect();
        assert!(busy.iter().all(Option::is_some), "work that somebody waits for is not limited");
        drop(stuck);
        let answered = async {
            while refuses("/dead") {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), answered).await.unwrap();
    }
}
