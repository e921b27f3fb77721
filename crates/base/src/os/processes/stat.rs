//! `/proc/[pid]/stat` (proc_pid_stat(5)).

/// The kernel's counters of one process. Times are in ticks of a hundredth of a second (USER_HZ on every architecture
/// we build for).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    pub pid: u32,
    /// At most 15 bytes.
    pub comm: String,
    /// `R`, `S`, `D`, `T`, `t`, `Z`, `X`, `I`, …
    pub state: char,
    pub ppid: u32,
    pub is_kernel: bool,
    pub user_ticks: u64,
    pub system_ticks: u64,
    pub nice: i32,
    pub threads: u32,
    /// Since boot. Together with the pid it identifies a process until the next boot.
    pub start_ticks: u64,
    /// Virtual size in bytes.
    pub virtual_bytes: u64,
    /// Resident set in pages.
    pub resident_pages: u64,
}

/// Ticks per second.
pub const TICKS: f64 = 100.0;
/// `PF_KTHREAD` of linux/sched.h: a kernel thread.
const KERNEL_THREAD: u64 = 0x0020_0000;

impl Stat {
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        // The name may contain anything, including brackets: it ends at the last one.
        let (open, close) = (text.iter().position(|b| *b == b'(')?, text.iter().rposition(|b| *b == b')')?);
        let pid = std::str::from_utf8(&text[..open]).ok()?.trim().parse().ok()?;
        let comm = String::from_utf8_lossy(text.get(open + 1..close)?).into_owned();
        let mut fields = std::str::from_utf8(&text[close + 1..]).ok()?.split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        let ppid = fields.next()?.parse().ok()?;
        // 5 pgrp, 6 session, 7 tty_nr, 8 tpgid; 9 flags.
        let flags: u64 = fields.nth(4)?.parse().ok()?;
        // 10-13 faults; 14 utime, 15 stime.
        let user_ticks = fields.nth(4)?.parse().ok()?;
        let system_ticks = fields.next()?.parse().ok()?;
        // 16 cutime, 17 cstime, 18 priority; 19 nice, 20 num_threads.
        let nice = fields.nth(3)?.parse().ok()?;
        let threads = fields.next()?.parse().ok()?;
        // 21 itrealvalue; 22 starttime, 23 vsize, 24 rss.
        let start_ticks = fields.nth(1)?.parse().ok()?;
        let virtual_bytes = fields.next()?.parse().ok()?;
        let resident_pages = fields.next()?.parse::<i64>().ok()?.max(0).unsigned_abs();
        Some(Self {
            pid,
            comm,
            state,
            ppid,
            is_kernel: flags & KERNEL_THREAD != 0,
            user_ticks,
            system_ticks,
            nice,
            threads,
            start_ticks,
            virtual_bytes,
            resident_pages,
        })
    }

    /// Processor time, in ticks.
    pub fn ticks(&self) -> u64 {
        self.user_ticks + self.system_ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "4211 (a) b (c)) S 1 4211 4211 0 -1 4194560 905 0 1 0 12 34 5 6 20 -5 3 0 98765 7344128 912 \
                        18446744073709551615 1 1 0 0 0 0 0 4096 81926 0 0 0 17 2 0 0 0 0 0 0 0 0 0 0 0 0 0";

    #[test]
    fn a_name_may_hold_brackets() {
        let stat = Stat::parse(LINE.as_bytes()).unwrap();
        assert_eq!((stat.pid, stat.comm.as_str(), stat.state, stat.ppid), (4211, "a) b (c)", 'S', 1));
        assert_eq!((stat.user_ticks, stat.system_ticks, stat.nice, stat.threads), (12, 34, -5, 3));
        assert_eq!((stat.start_ticks, stat.virtual_bytes, stat.resident_pages), (98765, 7_344_128, 912));
        assert!(!stat.is_kernel);
    }

    #[test]
    fn half_a_line_is_none() {
        for end in [0, 4, 9, 20, 60] {
            assert_eq!(Stat::parse(&LINE.as_bytes()[..end]), None, "{end}");
        }
    }
}
