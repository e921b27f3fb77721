//! A serial port whose other end the hand has: a pseudoterminal of the kernel.

use super::Port;
use rustix::{
    io::Errno,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};
use std::{
    cell::RefCell,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

pub struct Pty {
    name: String,
    far: RefCell<Option<OwnedFd>>,
}

impl Pty {
    /// A new one; `None` where there are none.
    pub fn new() -> Option<Self> {
        let far = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).ok()?;
        rustix::io::ioctl_fionbio(&far, true).ok()?;
        grantpt(&far).ok()?;
        unlockpt(&far).ok()?;
        let path = ptsname(&far, Vec::new()).ok()?.into_string().ok()?;
        Some(Self { name: path.strip_prefix("/dev/")?.to_owned(), far: RefCell::new(Some(far)) })
    }

    fn with<T>(&self, act: impl FnOnce(&OwnedFd) -> T) -> T {
        act(self.far.borrow().as_ref().expect("it was not hung up"))
    }
}

impl Port for Pty {
    fn name(&self) -> &str {
        &self.name
    }
    fn send(&self, bytes: &[u8]) {
        assert_eq!(self.with(|far| rustix::io::write(far, bytes)), Ok(bytes.len()));
    }
    fn received(&self, count: usize) -> Vec<u8> {
        let (mut all, mut chunk, began) = (Vec::new(), [0; 4096], Instant::now());
        while all.len() < count && began.elapsed() < Duration::from_secs(10) {
            match self.with(|far| rustix::io::read(far, &mut chunk)) {
                Ok(read) => all.extend(&chunk[..read]),
                Err(Errno::AGAIN | Errno::INTR) => std::thread::yield_now(),
                Err(fault) => panic!("{fault}"),
            }
        }
        all
    }
    fn hang_up(&self) {
        drop(self.far.borrow_mut().take());
    }
}
