//! Memory: `/proc/meminfo`.

use super::{Root, malformed};
use std::io;

const FILE: &str = "proc/meminfo";

/// Memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Memory managed by the kernel (less than the board has: the firmware and the GPU keep their part).
    pub total: u64,
    /// Memory that programs could still get without swapping: `MemAvailable` or, before Linux 3.14, free + buffers +
    /// cache.
    pub available: u64,
    /// Swap space and its free part; both 0 without swap.
    pub swap_total: u64,
    pub swap_free: u64,
}

impl MemoryInfo {
    /// Memory in use that cannot be reclaimed on demand.
    pub fn used(&self) -> u64 {
        self.total.saturating_sub(self.available)
    }
}

/// # Errors
/// `NotFound` without procfs, `InvalidData` when `MemTotal` or every source for the available memory is missing.
pub fn read(root: &Root) -> io::Result<MemoryInfo> {
    parse(&root.read(FILE)?)
}

fn parse(text: &str) -> io::Result<MemoryInfo> {
    let field = |name: &str| text.lines().find_map(|line| bytes(line.strip_prefix(name)?.strip_prefix(':')?));
    let total = field("MemTotal").ok_or_else(|| malformed(FILE, "there is no MemTotal in kB"))?;
    let available = field("MemAvailable")
        .or_else(|| field("MemFree")?.checked_add(field("Buffers")?)?.checked_add(field("Cached")?))
        .ok_or_else(|| malformed(FILE, "there is no MemAvailable in kB"))?;
    Ok(MemoryInfo {
        total,
        available: available.min(total),
        swap_total: field("SwapTotal").unwrap_or(0),
        swap_free: field("SwapFree").unwrap_or(0),
    })
}

/// `  437796 kB` in bytes.
fn bytes(value: &str) -> Option<u64> {
    value.trim().strip_suffix("kB")?.trim_end().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good() {
        let memory =
            parse("MemTotal:         437796 kB\nMemFree: 1 kB\nMemAvailable:     338956 kB\nSwapTotal: 9 kB\n")
                .unwrap();
        assert_eq!(memory, MemoryInfo { total: 448_303_104, available: 347_090_944, swap_total: 9216, swap_free: 0 });
        assert_eq!(memory.used(), 101_212_160);
    }

    #[test]
    fn an_old_kernel_has_no_available() {
        let memory =
            parse("MemTotal: 100 kB\nMemFree: 10 kB\nBuffers: 5 kB\nSwapCached: 70 kB\nCached: 20 kB\n").unwrap();
        assert_eq!(memory.available, 35 * 1024);
    }

    #[test]
    fn malformed_names_the_field() {
        assert_eq!(
            parse("MemTotal: many kB\n").unwrap_err().to_string(),
            "/proc/meminfo cannot be understood: there is no MemTotal in kB"
        );
        assert!(parse("MemTotal: 5 kB\n").unwrap_err().to_string().contains("MemAvailable"));
        assert!(parse("MemTotal: 18446744073709551615 kB\nMemAvailable: 1 kB").is_err());
    }
}
