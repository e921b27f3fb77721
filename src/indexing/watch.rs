//! Watches folders of several roots (inotify(7)): which of them changed. One watch for each folder.

use base::os::{
    beneath::{Beneath, descriptor},
    readable,
};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    io,
    mem::MaybeUninit,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
};
use tokio::io::unix::AsyncFd;

/// Folders that are watched, at most; the kernel's own limit for a user is 8192 or more.
const MOST: usize = 4096;

/// Files written, created, removed or moved, and folders.
const CHANGES: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// What shows that an awaited folder may be there, or that the one it is awaited in is not any more. Once only: the folder may be a
/// busy one, and each event wakes the server.
const APPEARS: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONESHOT)
    .union(WatchFlags::ONLYDIR);

/// A folder of a root: the root's name, and the path relative to it.
pub type Place = (String, String);

/// What changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TreeChanges {
    pub folders: BTreeSet<Place>,
    /// Events were lost: everything may have changed.
    pub lost: bool,
}

/// The watched folders.
pub struct TreeWatch {
    events: AsyncFd<OwnedFd>,
    /// Folders in which something is awaited on the way to a root that is not there: its name, and the root's name and path.
    awaited: BTreeMap<i32, BTreeSet<(OsString, String, PathBuf)>>,
    places: BTreeMap<i32, Place>,
    numbers: BTreeMap<Place, i32>,
    /// Whether a folder is not watched, for want of room.
    incomplete: bool,
}

impl TreeWatch {
    /// Watches nothing yet. Needs the runtime.
    ///
    /// # Errors
    /// The kernel's, such as the limit of instances per user.
    pub fn new() -> io::Result<Self> {
        let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let events = readable::listen(events)?;
        Ok(Self {
            events,
            awaited: BTreeMap::new(),
            places: BTreeMap::new(),
            numbers: BTreeMap::new(),
            incomplete: false,
        })
    }

    /// Watches a folder that is open.
    pub fn add(&mut self, root: &str, path: &str, folder: &Beneath) {
        let place = (root.to_owned(), path.to_owned());
        if self.numbers.contains_key(&place) {
            return;
        }
        let added = (self.numbers.len() < MOST)
            .then(|| inotify::add_watch(self.events.get_ref(), descriptor(&folder.as_fd()), CHANGES).ok())
            .flatten();
        let Some(number) = added else {
            if !std::mem::replace(&mut self.incomplete, true) {
                tracing::warn!(
                    root,
                    folder = path,
                    "too many folders to watch: changes in some are found at the next start"
                );
            }
            return;
        };
        // The same folder under another name: it was moved.
        if let Some(before) = self.places.insert(number, place.clone()) {
            self.numbers.remove(&before);
        }
        self.numbers.insert(place, number);
    }

    /// Awaits the folder of a root, which is not there: what comes first on the way to it is looked for in the folder above.
    pub fn expect(&mut self, root: &str, path: &Path) {
        self.expect_no_more(root);
        // Another part of the way may come between two looks.
        for _ in 0..path.components().count() {
            let (mut wanted, mut found) = (path, None);
            for folder in path.ancestors().skip(1) {
                if let Ok(number) = inotify::add_watch(self.events.get_ref(), folder, APPEARS) {
                    found = Some(number);
                    break;
                }
                wanted = folder;
            }
            let (Some(number), Some(name)) = (found, wanted.file_name()) else { return };
            if wanted == path || !wanted.exists() {
                self.awaited.entry(number).or_default().insert((name.to_owned(), root.to_owned(), path.to_owned()));
                return;
            }
        }
    }

    /// The root is there.
    pub fn expect_no_more(&mut self, root: &str) {
        self.awaited.retain(|number, names| {
            names.retain(|(_, other, _)| other != root);
            if names.is_empty() {
                let _ = inotify::remove_watch(self.events.get_ref(), *number);
            }
            !names.is_empty()
        });
    }

    /// Whether a folder is watched.
    pub fn has(&self, root: &str, path: &str) -> bool {
        self.numbers.contains_key(&(root.to_owned(), path.to_owned()))
    }

    /// Stops to watch a folder and those in it.
    pub fn forget(&mut self, root: &str, path: &str) {
        let below = |place: &Place| {
            let rest = place.1.strip_prefix(path);
            place.0 == root && rest.is_some_and(|rest| path.is_empty() || rest.is_empty() || rest.starts_with('/'))
        };
        let gone: Vec<Place> = self.numbers.keys().filter(|place| below(place)).cloned().collect();
        for place in gone {
            if let Some(number) = self.numbers.remove(&place) {
                self.places.remove(&number);
                // The kernel has removed that of a folder which is gone.
                let _ = inotify::remove_watch(self.events.get_ref(), number);
            }
        }
    }

    /// Waits for a change.
    ///
    /// # Errors
    /// When the kernel's events cannot be read any more.
    pub async fn ready(&self) -> io::Result<()> {
        self.events.readable().await?.clear_ready();
        Ok(())
    }

    /// What changed since the last call. A folder that was moved away or removed is not watched any more: its parent has changed.
    pub fn changes(&mut self) -> TreeChanges {
        let mut changes = TreeChanges::default();
        let (mut gone, mut others) = (Vec::new(), Vec::new());
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(self.events.get_ref(), &mut buffer);
        while let Ok(event) = reader.next() {
            let flags = event.events();
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                changes.lost = true;
                continue;
            }
            for (name, root, path) in self.awaited.remove(&event.wd()).into_iter().flatten() {
                // Without a name it is about the folder itself, which is gone.
                match event.file_name() {
                    Some(there) if there.to_bytes() != name.as_encoded_bytes() => others.push((root, path)),
                    _ => drop(changes.folders.insert((root, String::new()))),
                }
            }
            let Some(place) = self.places.get(&event.wd()) else { continue };
            if flags.contains(ReadFlags::IGNORED) {
                gone.push(place.clone());
                continue;
            }
            // A folder that leaves this one may come back as another.
            if flags.contains(ReadFlags::ISDIR)
                && flags.intersects(ReadFlags::MOVED_FROM | ReadFlags::DELETE | ReadFlags::MOVED_TO | ReadFlags::CREATE)
                && let Some(name) = event.file_name().and_then(|name| name.to_str().ok())
            {
                let (root, path) = place;
                gone.push((root.clone(), if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }));
            }
            changes.folders.insert(place.clone());
        }
        for (root, path) in gone {
            self.forget(&root, &path);
        }
        for (root, path) in others {
            self.expect(&root, &path);
            // It may have come meanwhile.
            if path.exists() {
                changes.folders.insert((root, String::new()));
            }
        }
        changes
    }
}
