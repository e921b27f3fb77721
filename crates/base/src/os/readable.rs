//! Descriptors that the runtime waits on until they can be read: lines with edges, watched folders.

use rustix::io::{Errno, read};
use std::{io, os::fd::OwnedFd};
use tokio::io::{Interest, unix::AsyncFd};

/// Registers a descriptor with the runtime until what comes back is dropped.
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

/// Reads all that there is to read, of descriptors that tell of changes: what happened does not matter where everything is looked at again.
/// More of it than the kernel keeps is one change, too.
///
/// # Errors
/// When the kernel cannot be listened to any more.
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
