//! The uptime: `/proc/uptime`.

use super::{Root, live::LiveFile, malformed};
use std::{io, time::Duration};

const FILE: &str = "proc/uptime";

/// Time since boot, including suspend.
///
/// # Errors
/// `NotFound` without procfs, `InvalidData` when the first value is not a number.
pub fn read(root: &Root) -> io::Result<Duration> {
    parse(&root.read(FILE)?)
}

/// [`read`] for callers that ask often. On the machine itself it uses the kernel's clock, which avoids formatting text,
/// the largest cost of such a call; for a captured tree the file stays open.
#[derive(Debug)]
pub enum Uptime {
    Clock,
    File(LiveFile),
}

impl Uptime {
    /// # Errors
    /// `NotFound` without procfs, in a tree.
    pub fn open(root: &Root) -> io::Result<Self> {
        if root.is_system() { Ok(Self::Clock) } else { LiveFile::open(root, FILE).map(Self::File) }
    }
    /// # Errors
    /// Those of [`read`]; of the clock none.
    pub fn now(&self) -> io::Result<Duration> {
        match self {
            // CLOCK_BOOTTIME is what /proc/uptime prints (fs/proc/uptime.c).
            Self::Clock => {
                let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
                Duration::try_from(time).map_err(|_| malformed("CLOCK_BOOTTIME", "it is before the boot"))
            }
            Self::File(file) => {
                let mut buffer = [0; 64];
                parse(file.read(&mut buffer)?)
            }
        }
    }
}

fn parse(text: &str) -> io::Result<Duration> {
    text.split_whitespace()
        .next()
        .and_then(|seconds| seconds.parse::<f64>().ok())
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| malformed(FILE, "it does not start with a number of seconds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_and_file_agree() {
        let root = Root::system();
        let (file, clock) = (read(&root).unwrap(), Uptime::open(&root).unwrap().now().unwrap());
        assert!(clock.abs_diff(file) < Duration::from_secs(5), "{clock:?} and {file:?}");
    }

    #[test]
    fn good_and_malformed() {
        assert_eq!(parse("350735.47 234388.90\n").unwrap(), Duration::from_millis(350_735_470));
        for bad in ["", "up", "-1.0 0", "NaN 1", "1e400 1"] {
            assert_eq!(parse(bad).unwrap_err().kind(), io::ErrorKind::InvalidData, "{bad:?}");
        }
    }
}
