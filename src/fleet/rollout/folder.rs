//! A channel's index in a folder, replaced by several processes, of which any may hang at any moment and go on later.
//!
//! A lock keeps two of them apart, and whoever holds it may hang. So after [`PATIENCE_S`] seconds in which nothing changed it is
//! passed, and what fences the one that hangs is its own new file ([`staged`]). Of two writers whose reads and renames cross, one
//! has removed the file of the other before that one's rename, whatever became of the locks.

use super::{
    failed,
    holder::{self, LockNote},
};
use base::{
    canonical,
    error::{ErrorCode, ToolError},
    os::{if_there, lock::Lock, whole},
};
use ring::rand::{SecureRandom, SystemRandom};
use std::{
    cell::RefCell,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::time::Instant;
use update::{
    channel::{
        ChannelIndex, INDEX,
        staged::{self, NEW_INDEX_PREFIX},
    },
    trust::{MAX_SIGNED, Purpose, Signed},
};

/// Seconds without any change after which a lock is passed. Who holds it writes one small file.
pub const PATIENCE_S: u64 = 30;

/// The index of one channel in a folder.
pub struct FolderPlace {
    folder: PathBuf,
    index: PathBuf,
    /// What others held at the last attempt, and since when.
    held: RefCell<Option<(Held, Instant)>>,
}

/// All by which it is seen that a lock changed hands, or that its holder did something.
#[derive(PartialEq, Eq)]
struct Held {
    /// Whether another process has the folder's lock.
    folder: bool,
    /// The lock file: its inode and content.
    file: Option<(u64, Vec<u8>)>,
    present: Vec<u8>,
}

/// A new index that has not its name yet. Removed when it is dropped.
pub(super) struct Staged {
    index: PathBuf,
    path: PathBuf,
    lock: PathBuf,
    note: Vec<u8>,
    /// The folder's lock, unless it was passed.
    _folder: Option<Lock>,
}

impl FolderPlace {
    pub fn new(folder: PathBuf, channel: &str) -> Self {
        let index = folder.join(channel).join(INDEX);
        Self { folder, index, held: RefCell::new(None) }
    }

    /// The index that is there.
    ///
    /// # Errors
    /// `not_found` without one; `unavailable` when it cannot be read.
    pub fn present(&self) -> Result<Vec<u8>, ToolError> {
        let mut bytes = Vec::new();
        let failed = |error| failed(&self.index, &error);
        let file = if_there(File::open(&self.index)).map_err(failed)?.ok_or_else(|| {
            ToolError::not_found(format!("{} is missing: the channel has no index yet", self.index.display()))
                .hint("`raspi-mcp channel publish` begins it")
        })?;
        file.take(MAX_SIGNED as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }

    /// Replaces it, if it has the bytes `expected`.
    ///
    /// # Errors
    /// `conflict` when it has others, or when somebody else holds the place (`details.held_by`); `unavailable` when it cannot be
    /// written.
    pub fn replace(&self, expected: &[u8], with: &[u8]) -> Result<(), ToolError> {
        self.stage(expected, with)?.publish()
    }

    /// Everything but the last step.
    pub(super) fn stage(&self, expected: &[u8], with: &[u8]) -> Result<Staged, ToolError> {
        let channel = self.index.parent().unwrap_or(&self.folder);
        let folder = File::open(&self.folder).and_then(Lock::take).map_err(|error| failed(&self.folder, &error))?;
        let lock = self.index.with_extension("lock");
        self.may_pass(folder.is_some(), &lock, is_pause(with))?;

        let name = format!("{NEW_INDEX_PREFIX}{}", random()?);
        let path = channel.join(&name);
        let note = serde_json::to_vec(&LockNote::mine(name)).map_err(|error| ToolError::internal(error.to_string()))?;
        let made = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&lock);
        let mut made = made.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                holder::held(&lock, &holder::of_note(&read(&lock)).unwrap_or_else(|| holder::UNKNOWN.into()))
            }
            _ => failed(&lock, &error),
        })?;
        let staged = Staged { index: self.index.clone(), path, lock, note, _folder: folder };
        made.write_all(&staged.note).map_err(|error| failed(&staged.lock, &error))?;
        // A web server reads it, so the umask decides the mode.
        let put = OpenOptions::new().write(true).create_new(true).mode(0o666).open(&staged.path);
        put.and_then(|mut file| file.write_all(with).and_then(|()| file.sync_all()))
            .map_err(|error| failed(&staged.path, &error))?;
        staged::remove_others(channel, &staged.path).map_err(|error| failed(channel, &error))?;
        match self.present()? == expected {
            true => Ok(staged),
            false => Err(changed(&self.index)),
        }
    }

    /// Whether nobody holds the place, or somebody has done so for too long without doing anything. Removes a lock file that is
    /// passed. `raspi-mcp channel` holds the folder without a lock file, for as long as it copies a release, and is no process
    /// that hangs: it is passed for a `pause` only.
    fn may_pass(&self, has_folder: bool, lock: &Path, pause: bool) -> Result<(), ToolError> {
        let file = fs::metadata(lock).ok().map(|about| (about.ino(), read(lock)));
        let now = Held {
            folder: !has_folder,
            file,
            present: if_there(fs::read(&self.index)).ok().flatten().unwrap_or_default(),
        };
        if !now.folder && now.file.is_none() {
            self.held.replace(None);
            return Ok(());
        }
        let since = match &*self.held.borrow() {
            Some((seen, since)) if *seen == now => *since,
            _ => Instant::now(),
        };
        let (what, note) = match &now.file {
            Some((_, note)) => (lock, holder::of_note(note)),
            None => (self.folder.as_path(), None),
        };
        // A lock file of an older version says nothing; the kernel may.
        let who = note.unwrap_or_else(|| match now.folder {
            true => holder::of_lock(&self.folder),
            false => holder::UNKNOWN.into(),
        });
        let long = since.elapsed() >= Duration::from_secs(PATIENCE_S);
        let passes = long && (now.file.is_some() || pause);
        let has_file = now.file.is_some();
        self.held.replace(Some((now, since)));
        if !passes {
            return Err(holder::held(what, &who).hint(format!(
                "it is passed after {PATIENCE_S} s in which it does nothing; raspi-mcp channel, which copies a release, only for a pause"
            )));
        }
        tracing::warn!(target: "fleet", "{} was held for {PATIENCE_S} s by {who}: it is passed", what.display());
        if has_file {
            whole::remove(lock).map_err(|error| failed(lock, &error))?;
        }
        Ok(())
    }
}

impl Staged {
    /// Gives it the name of the index.
    ///
    /// # Errors
    /// `conflict` when somebody else has passed this process meanwhile; `unavailable` when it cannot be written.
    pub(super) fn publish(self) -> Result<(), ToolError> {
        fs::rename(&self.path, &self.index).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => changed(&self.index),
            _ => failed(&self.index, &error),
        })?;
        let folder = self.index.parent().unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| failed(folder, &error))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // After a success it has another name. What is left behind is removed by the next one.
        let _ = fs::remove_file(&self.path);
        if read(&self.lock) == self.note {
            let _ = fs::remove_file(&self.lock);
        }
    }
}

fn changed(index: &Path) -> ToolError {
    ToolError::new(ErrorCode::Conflict, format!("{} was changed meanwhile", index.display()))
}

/// A lock file; empty if it is gone.
fn read(lock: &Path) -> Vec<u8> {
    fs::read(lock).unwrap_or_default()
}

fn is_pause(bytes: &[u8]) -> bool {
    let index = Signed::parse(bytes, Purpose::Channel).ok().and_then(|signed| ChannelIndex::parse(&signed.text).ok());
    index.is_some_and(|index| index.paused.is_some())
}

fn random() -> Result<String, ToolError> {
    let mut random = [0; 8];
    SystemRandom::new().fill(&mut random).map_err(|_| ToolError::internal("the kernel gives no random bytes"))?;
    Ok(canonical::hex(&random))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place with the index `one`, as another process sees it too.
    fn places() -> (tempfile::TempDir, FolderPlace, FolderPlace) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("stable")).unwrap();
        let place = || FolderPlace::new(dir.path().to_owned(), "stable");
        let (first, second) = (place(), place());
        fs::write(&first.index, "one").unwrap();
        (dir, first, second)
    }

    /// Tries until it is through: for how many seconds.
    async fn passes(place: &FolderPlace, with: &[u8]) -> u64 {
        let began = Instant::now();
        while let Err(error) = place.replace(b"one", with) {
            assert!(holder::is_held(&error), "{error}");
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        began.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn who_hangs_before_the_last_step_publishes_nothing_after_it_was_passed() {
        let (dir, first, second) = places();
        let hangs = first.stage(b"one", b"two").unwrap();
        let error = second.replace(b"one", b"pause").unwrap_err();
        assert!(error.message.contains(&format!("process {}", std::process::id())), "{error}");
        assert_eq!(passes(&second, b"pause").await, PATIENCE_S);
        assert_eq!(second.present().unwrap(), b"pause");
        // It wakes up.
        let error = hangs.publish().unwrap_err();
        assert!(error.code == ErrorCode::Conflict && !holder::is_held(&error), "{error}");
        assert_eq!(second.present().unwrap(), b"pause");
        assert_eq!(fs::read_dir(dir.path().join("stable")).unwrap().count(), 1, "nothing is left behind");
        first.replace(b"pause", b"three").unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn who_wakes_up_after_its_lock_was_taken_leaves_the_lock_of_the_next() {
        let (dir, first, second) = places();
        let hangs = first.stage(b"one", b"two").unwrap();
        let lock = first.index.with_extension("lock");
        let mut next = second.stage(b"one", b"pause");
        while next.is_err() {
            tokio::time::advance(Duration::from_secs(1)).await;
            next = second.stage(b"one", b"pause");
        }
        assert!(hangs.publish().is_err(), "its file is gone before the other one has published");
        assert!(lock.exists(), "it is the next one's");
        next.unwrap().publish().unwrap();
        assert_eq!(second.present().unwrap(), b"pause");
        assert!(!lock.exists() && dir.path().join("stable/index.signed").exists());
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_goes_on_is_never_passed() {
        let (_dir, first, second) = places();
        for round in 0..4_u8 {
            let present = first.present().unwrap();
            let staged = first.stage(&present, &[b'x', round]).unwrap();
            for _ in 0..20 {
                assert!(second.replace(&present, b"pause").is_err_and(|error| holder::is_held(&error)));
                tokio::time::advance(Duration::from_secs(1)).await;
            }
            staged.publish().unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_release_that_is_copied_for_long_is_not_passed_for_a_stage() {
        let (dir, _, second) = places();
        let copying = update::channel::Tree::open(dir.path()).unwrap();
        for _ in 0..100 {
            assert!(second.replace(b"one", b"stage").is_err_and(|error| holder::is_held(&error)));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        drop(copying);
        second.replace(b"one", b"stage").unwrap();
    }

    #[test]
    fn of_two_that_cross_in_any_order_one_fails() {
        // The steps of two writers without any lock: each puts its file, removes those of others, reads, renames.
        let orders = (0_u16..256).filter(|bits| bits.count_ones() == 4);
        for bits in orders {
            let (dir, first, _) = places();
            let channel = dir.path().join("stable");
            let files = ["a", "b"].map(|name| channel.join(format!("{NEW_INDEX_PREFIX}{name}")));
            let (mut step, mut read, mut done) = ([0; 2], [Vec::new(), Vec::new()], Vec::new());
            for turn in 0..8 {
                let who = usize::from(bits >> turn & 1);
                match step[who] {
                    0 => fs::write(&files[who], format!("{who}")).unwrap(),
                    1 => staged::remove_others(&channel, &files[who]).unwrap(),
                    2 => read[who] = first.present().unwrap(),
                    _ if read[who] == b"one" && fs::rename(&files[who], &first.index).is_ok() => done.push(who),
                    _ => {}
                }
                step[who] += 1;
            }
            assert!(done.len() <= 1, "{bits:08b}: both published over the same index");
        }
    }
}
