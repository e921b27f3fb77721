//! Static facts about a machine, read once, and variable ones from files that stay open.

use super::{
    Root, cpuinfo,
    kernel::{self, HostnameReader},
    meminfo, os_release,
    uptime::Uptime,
};
use std::{io, sync::OnceLock, time::Duration};

/// Facts that are constant until the next boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    pub architecture: String,
    pub kernel_release: String,
    pub cores: u32,
    pub memory_total_bytes: u64,
    pub os_name: String,
    /// "unversioned" when the distribution gives no version.
    pub os_version: String,
}

/// Reads on first use. A failed source is read again the next time.
#[derive(Debug)]
pub struct About {
    root: Root,
    fixed: OnceLock<Fixed>,
    uptime: OnceLock<Uptime>,
    hostname: OnceLock<HostnameReader>,
}

impl About {
    pub fn new(root: Root) -> Self {
        Self { root, fixed: OnceLock::new(), uptime: OnceLock::new(), hostname: OnceLock::new() }
    }

    /// # Errors
    /// Those of the readers of cpuinfo, meminfo, os-release and the kernel's name.
    pub fn fixed(&self) -> io::Result<&Fixed> {
        once(&self.fixed, || Fixed::read(&self.root))
    }
    /// # Errors
    /// Those of [`super::uptime::read`].
    pub fn uptime(&self) -> io::Result<Duration> {
        once(&self.uptime, || Uptime::open(&self.root))?.now()
    }
    /// # Errors
    /// Those of [`kernel::hostname`].
    pub fn hostname(&self) -> io::Result<String> {
        once(&self.hostname, || HostnameReader::open(&self.root))?.now()
    }
}

impl Fixed {
    fn read(root: &Root) -> io::Result<Self> {
        let kernel = kernel::read(root)?;
        let os = os_release::read(root)?;
        Ok(Self {
            architecture: kernel.architecture,
            kernel_release: kernel.release,
            cores: cpuinfo::read(root)?.cores,
            memory_total_bytes: meminfo::read(root)?.total,
            os_name: os.name,
            os_version: os.version.unwrap_or_else(|| "unversioned".into()),
        })
    }
}

/// `OnceLock::get_or_try_init`, which is not stable yet. Concurrent first callers may both compute it; one result is
/// kept.
fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> io::Result<T>) -> io::Result<&T> {
    match cell.get() {
        Some(made) => Ok(made),
        None => {
            let made = make()?;
            Ok(cell.get_or_init(|| made))
        }
    }
}
