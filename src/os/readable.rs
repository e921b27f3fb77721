//! Descriptors that the runtime waits on until they can be read: lines with edges, watched folders.

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
