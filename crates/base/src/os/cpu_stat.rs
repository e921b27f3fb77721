//! The processors' load: the first line of `/proc/stat`, compared with an earlier one.

use super::{Root, malformed};
use std::io;

const FILE: &str = "proc/stat";

/// Ticks since boot, summed over all cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticks {
    pub busy: u64,
    pub total: u64,
}

impl Ticks {
    /// The share of the time since `earlier` in which the cores were busy, 0-100. 0 when the counters have not changed.
    pub fn percent_since(self, earlier: Ticks) -> f64 {
        let total = self.total.saturating_sub(earlier.total);
        if total == 0 {
            return 0.0;
        }
        // iowait can decrease, so either difference can be wrong for one reading.
        (self.busy.saturating_sub(earlier.busy) as f64 * 100.0 / total as f64).clamp(0.0, 100.0)
    }
}

/// # Errors
/// `NotFound` without procfs, `InvalidData` when the first line is not the sum of all cores.
pub fn read(root: &Root) -> io::Result<Ticks> {
    parse(&root.read(FILE)?)
}

fn parse(text: &str) -> io::Result<Ticks> {
    let wrong = || malformed(FILE, "the first line is not 'cpu' and at least five numbers");
    let line = text.lines().next().and_then(|line| line.strip_prefix("cpu ")).ok_or_else(wrong)?;
    let ticks: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
    // user nice system idle iowait irq softirq steal; the guest times that follow are included in user and nice.
    let [_, _, _, idle, iowait, ..] = ticks[..] else { return Err(wrong()) };
    let total = ticks.iter().take(8).fold(0_u64, |sum, part| sum.wrapping_add(*part));
    Ok(Ticks { busy: total.saturating_sub(idle).saturating_sub(iowait), total })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good() {
        let before = parse("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 1 1 1\n").unwrap();
        assert_eq!(before, Ticks { busy: 150, total: 1000 });
        let after = parse("cpu  170 0 80 1050 100 0 0 0 60 0\n").unwrap();
        assert_eq!(after.percent_since(before), 25.0);
    }

    #[test]
    fn counters_that_stand_still_or_fall_are_not_busy() {
        let one = Ticks { busy: 150, total: 1000 };
        assert_eq!(one.percent_since(one), 0.0);
        assert_eq!(Ticks { busy: 100, total: 1100 }.percent_since(one), 0.0);
        assert_eq!(Ticks { busy: 900, total: 1100 }.percent_since(one), 100.0);
    }

    #[test]
    fn malformed() {
        for bad in ["", "cpu0 1 2 3 4 5\n", "cpu  1 2 3\n", "cpu  1 2 x 4 5\n"] {
            assert_eq!(parse(bad).unwrap_err().kind(), io::ErrorKind::InvalidData, "{bad:?}");
        }
    }
}
