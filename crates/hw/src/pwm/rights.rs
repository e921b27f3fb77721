//! Waits until udev has given newly created sysfs files to our group.
//!
//! The kernel creates a channel's files owned by root; a udev rule gives them to the group `gpio` a moment later
//! (`dist/udev`, or Raspberry Pi OS' own). inotify(7) reports that change of owner, because a program makes it; so
//! there is no polling.

use base::os::{Root, readable};
use rustix::{
    fs::inotify::{self, CreateFlags, WatchFlags},
    io::Errno,
};
use std::{fs::OpenOptions, io, os::fd::OwnedFd, time::Duration};
use tokio::io::unix::AsyncFd;

/// udev takes milliseconds, or up to a second on a Zero 2 W that is still starting.
const PATIENCE: Duration = Duration::from_secs(3);

/// Waits until all `files` below `folder`, which is created in `parent`, are writable.
///
/// # Errors
/// The error of opening them after three seconds.
pub async fn writable(root: &Root, parent: &str, folder: &str, files: &[&str]) -> io::Result<()> {
    // Files that are writable already need no watch.
    let Err(refusal) = try_all(root, folder, files) else { return Ok(()) };
    let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    let watch = readable::listen(watch)?;
    let mut last = refusal;
    let waiting = async {
        loop {
            // Repeated, because a folder may have appeared meanwhile.
            watch_all(&watch, root, parent, folder, files)?;
            match try_all(root, folder, files) {
                Ok(()) => return Ok(()),
                Err(refusal) => last = refusal,
            }
            let mut ready = watch.readable().await?;
            readable::drain(watch.get_ref())?;
            ready.clear_ready();
        }
    };
    match tokio::time::timeout(PATIENCE, waiting).await {
        Ok(done) => done,
        Err(_) => Err(last),
    }
}

fn try_all(root: &Root, folder: &str, files: &[&str]) -> io::Result<()> {
    for file in files {
        OpenOptions::new().write(true).open(root.path(&format!("{folder}/{file}")))?;
    }
    Ok(())
}

fn watch_all(watch: &AsyncFd<OwnedFd>, root: &Root, parent: &str, folder: &str, files: &[&str]) -> io::Result<()> {
    let flags = WatchFlags::ATTRIB | WatchFlags::CREATE;
    inotify::add_watch(watch.get_ref(), root.path(parent), flags)?;
    let paths = files.iter().map(|file| format!("{folder}/{file}"));
    for path in std::iter::once(folder.to_owned()).chain(paths) {
        match inotify::add_watch(watch.get_ref(), root.path(&path), flags) {
            // Its parent's watch reports when it appears.
            Ok(_) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
