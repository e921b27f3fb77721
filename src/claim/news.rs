//! Changes that affect the claim screen: files in the identity folder (inotify(7)) and changed addresses
//! (rtnetlink(7)). Nothing polls.

use base::os::readable;
use rustix::{
    fs::inotify::{self, CreateFlags, WatchFlags},
    net::{AddressFamily, SocketFlags, SocketType, bind, netlink, socket_with},
};
use std::{io, os::fd::OwnedFd, path::Path};
use tokio::io::unix::AsyncFd;

// linux/rtnetlink.h: RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR
const ADDRESSES: u32 = 0x10 | 0x100;

/// Both sources of changes.
pub struct ChangeWatcher {
    files: AsyncFd<OwnedFd>,
    addresses: AsyncFd<OwnedFd>,
}

impl ChangeWatcher {
    /// Watches from now on.
    ///
    /// # Errors
    /// `NotFound` without the folder; any other error of the kernel.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let files = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let flags = WatchFlags::MOVED_TO | WatchFlags::CLOSE_WRITE | WatchFlags::DELETE | WatchFlags::ONLYDIR;
        inotify::add_watch(&files, folder, flags)?;
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        // Protocol 0 is NETLINK_ROUTE.
        let addresses = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        bind(&addresses, &netlink::SocketAddrNetlink::new(0, ADDRESSES))?;
        Ok(Self { files: readable::listen(files)?, addresses: readable::listen(addresses)? })
    }

    /// Waits for the next change of either. Simultaneous changes count as one.
    ///
    /// # Errors
    /// If the kernel reports no further changes.
    pub async fn next(&self) -> io::Result<()> {
        let source = tokio::select! {
            ready = self.files.readable() => { ready?.clear_ready(); &self.files }
            ready = self.addresses.readable() => { ready?.clear_ready(); &self.addresses }
        };
        readable::drain(source.get_ref())
    }
}
