//! How long the machine has been up: `/proc/uptime`.

use super::{Root, live::Live, malformed};
use std::{io, time::Duration};

const FILE: &str = "proc/uptime";

/// Time since boot, as the kernel counts it (suspend included).
///
/// # Errors
/// `NotFound` without procfs, `InvalidData` when the first number is none.
pub fn read(root: &Root) -> io::Result<Duration> {
    parse(&root.read(FILE)?)
}

/// [`read`] for callers that ask often: the file stays open.
#[derive(Debug)]
pub struct Uptime(Live);

impl Uptime {
    /// # Errors
    /// `NotFound` without procfs.
    pub fn open(root: &Root) -> io::Result<Self> {
        Live::open(root, FILE).map(Self)
    }
    /// # Errors
    /// Those of [`read`].
    pub fn now(&self) -> io::Result<Duration> {
        let mut buffer = [0; 64];
        parse(self.0.read(&mut buffer)?)
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
    fn good_and_malformed() {
        assert_eq!(parse("350735.47 234388.90\n").unwrap(), Duration::from_millis(350_735_470));
        for bad in ["", "up", "-1.0 0", "NaN 1", "1e400 1"] {
            assert_eq!(parse(bad).unwrap_err().kind(), io::ErrorKind::InvalidData, "{bad:?}");
        }
    }
}
