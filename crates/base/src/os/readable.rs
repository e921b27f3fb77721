//! Descriptors whose readability the runtime awaits: lines with edges, watched folders.

use rustix::io::{Errno, read};
use std::{io, os::fd::OwnedFd};
use tokio::io::{Interest, unix::AsyncFd};

/// Registers a descriptor with the runtime until the result is dropped.
///
/// # Errors
/// When the kernel cannot wait on it (epoll_ctl(2)).
#[expect(
    deprecated,
    reason = "its successor is unsafe for types that may lie about their descriptor; an OwnedFd cannot"
)]
pub fn listen(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd, Interest::READABLE)
}

/// As [`listen`], for writing.
///
/// # Errors
/// As [`listen`].
#[expect(deprecated, reason = "as above")]
pub fn until_writable(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd, Interest::WRITABLE)
}

/// Reads and discards all pending events, for callers that then check everything again. An overflow of the kernel's
/// queue counts as a change, too.
///
/// # Errors
/// When the kernel's events cannot be read any more.
pub fn drain(source: &OwnedFd) -> io::Result<()> {
    let mut bytes = [0; 8192];
    loop {
        match read(source, &mut bytes) {
            Ok(0) | Err(Errno::AGAIN | Errno::NOBUFS) => return Ok(()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
