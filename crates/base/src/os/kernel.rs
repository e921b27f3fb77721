//! The kernel's identity: `/proc/sys/kernel`.

use super::{Root, live::LiveFile, malformed};
use std::io;

const HOSTNAME: &str = "proc/sys/kernel/hostname";

/// Constant while the machine is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// `6.6.20+rpt-rpi-v8`
    pub release: String,
    /// `aarch64`
    pub architecture: String,
}

/// # Errors
/// `NotFound` without procfs, `InvalidData` when a file is empty.
pub fn read(root: &Root) -> io::Result<Kernel> {
    let release = root.line("proc/sys/kernel/osrelease")?;
    // The file exists since Linux 6.1; uname(2) gives the running kernel's architecture on any version.
    let architecture = root.line("proc/sys/kernel/arch").or_else(|fault| match fault.kind() {
        io::ErrorKind::NotFound => Ok(rustix::system::uname().machine().to_string_lossy().into_owned()),
        _ => Err(fault),
    })?;
    Ok(Kernel { release, architecture })
}

/// The host name, which can change at any time.
///
/// # Errors
/// `NotFound` without procfs, `InvalidData` when it is empty.
pub fn hostname(root: &Root) -> io::Result<String> {
    root.line(HOSTNAME)
}

/// [`hostname`] for callers that ask often. On the machine itself through uname(2); for a captured tree the file stays
/// open.
#[derive(Debug)]
pub enum HostnameReader {
    Uname,
    File(LiveFile),
}

impl HostnameReader {
    /// # Errors
    /// `NotFound` without procfs, in a tree.
    pub fn open(root: &Root) -> io::Result<Self> {
        if root.is_system() { Ok(Self::Uname) } else { LiveFile::open(root, HOSTNAME).map(Self::File) }
    }
    /// # Errors
    /// Those of [`hostname`].
    pub fn now(&self) -> io::Result<String> {
        let file = match self {
            Self::Uname => return named(rustix::system::uname().nodename().to_str().unwrap_or_default()),
            Self::File(file) => file,
        };
        // A host name has at most 64 bytes (`__NEW_UTS_LEN`).
        let mut buffer = [0; 80];
        named(file.read(&mut buffer)?)
    }
}

fn named(text: &str) -> io::Result<String> {
    match text.trim() {
        "" => Err(malformed(HOSTNAME, "it is empty")),
        name => Ok(name.to_owned()),
    }
}
