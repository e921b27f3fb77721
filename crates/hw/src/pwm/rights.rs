//! Waiting for files of sysfs that have just come to be, and that udev has yet to hand to our group.
//!
//! The kernel makes a channel's files root's own; a rule of udev gives them to the group `gpio` a moment later
//! (`dist/udev`, or Raspberry Pi OS' own). inotify(7) tells of that change of owner, which a program makes; so nothing polls.

use base::os::{Root, readable};
use rustix::{
    fs::inotify::{self, CreateFlags, WatchFlags},
    io::Errno,
};
use std::{fs::OpenOptions, io, os::fd::OwnedFd, time::Duration};
use tokio::io::unix::AsyncFd;

/// udev takes milliseconds; on a Zero 2 W that is still starting, a second.
const PATIENCE: Duration = Duration::from_secs(3);

/// Waits until every one of `files` below `folder` can be written, `folder` being made below `parent`.
///
/// # Errors
/// What opening them says after three seconds.
pub async fn writable(root: &Root, parent: &str, folder: &str, files: &[&str]) -> io::Result<()> {
    // What can be written already needs no watch.
    let Err(refusal) = try_all(root, folder, files) else { return Ok(()) };
    let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    let watch = readable::listen(watch)?;
    let mut last = refusal;
    let waiting = async {
        loop {
            // Again each time: a folder that was not there before may be now.
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
            // Once it is there, its parent's watch tells.
            Ok(_) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
