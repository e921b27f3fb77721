//! A lock on a whole file, for one holder at a time (`flock(2)`).
//!
//! It is released by an explicit unlock, not only by closing the file: a child that another thread is just starting has
//! a copy of every descriptor until its `exec`, and would hold the lock longer than its owner.

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};
use std::{fs::File, io, ops::Deref};

/// The file, locked until this is dropped. The kernel also releases the lock when the process ends, however it ends.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// Takes it without waiting; `None` while it is held elsewhere, including in this process.
    ///
    /// # Errors
    /// Those of `flock(2)`, for example on a file system without locks.
    pub fn take(file: File) -> io::Result<Option<Self>> {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes it, and blocks this thread while it is held elsewhere: for locks that are held for one write.
    ///
    /// # Errors
    /// Those of `flock(2)`, for example on a file system without locks.
    pub fn wait(file: File) -> io::Result<Self> {
        loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Self(file)),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Deref for Lock {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Fails only for an invalid descriptor; the file is closed right after.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs::{self, OpenOptions},
        io::Write,
        process::Command,
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    #[test]
    fn one_has_it_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let open = || File::create(folder.path().join("lock")).unwrap();
        let held = Lock::take(open()).unwrap().unwrap();
        assert!(Lock::take(open()).unwrap().is_none());
        drop(held);
        assert!(Lock::take(open()).unwrap().is_some());
    }

    #[test]
    fn who_waits_has_it_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let open = || OpenOptions::new().append(true).create(true).open(folder.path().join("lock")).unwrap();
        let held = Lock::wait(open()).unwrap();
        thread::scope(|scope| {
            let waits = scope.spawn(|| (&*Lock::wait(open()).unwrap()).write_all(b"second").unwrap());
            thread::yield_now();
            (&*held).write_all(b"first ").unwrap();
            drop(held);
            waits.join().unwrap();
        });
        assert_eq!(fs::read(folder.path().join("lock")).unwrap(), b"first second");
    }

    #[test]
    fn a_child_that_is_just_starting_does_not_hold_it_longer_than_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        Command::new("true").status().unwrap();
                    }
                });
            }
            let refused = (0..2_000).filter(|_| {
                let held = Lock::take(File::create(folder.path().join("lock")).unwrap()).unwrap();
                thread::yield_now();
                held.is_none()
            });
            let refused = refused.count();
            done.store(true, Ordering::Relaxed);
            assert_eq!(refused, 0);
        });
    }
}
