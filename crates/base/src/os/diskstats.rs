//! Traffic of each disk: `/proc/diskstats` (`Documentation/admin-guide/iostats.rst`).

use super::{Root, malformed};
use std::io;

const FILE: &str = "proc/diskstats";
/// The unit of the sector columns, whatever the disk's own sector size.
const SECTOR: u64 = 512;

/// Counters of one whole disk since boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskCounters {
    pub name: String,
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Milliseconds with at least one request in flight.
    pub busy_ms: u64,
}

/// Whole disks: SD and eMMC cards, SATA, USB, NVMe and virtual disks. Without partitions, loops, RAM disks and
/// mappings, which would count the same bytes twice.
///
/// # Errors
/// `NotFound` without procfs, `InvalidData` when a disk's line is not two numbers, a name and eleven numbers.
pub fn read(root: &Root) -> io::Result<Vec<DiskCounters>> {
    parse(&root.read(FILE)?)
}

fn parse(text: &str) -> io::Result<Vec<DiskCounters>> {
    let is_whole = |line: &&str| line.split_whitespace().nth(2).is_some_and(is_whole_disk);
    if let Some(short) = text.lines().find(|line| !line.trim().is_empty() && line.split_whitespace().count() < 3) {
        return Err(malformed(FILE, &format!("the line '{}' names no disk", short.trim())));
    }
    text.lines().filter(is_whole).map(disk).collect()
}

fn disk(line: &str) -> io::Result<DiskCounters> {
    let wrong = || malformed(FILE, "a disk's line is not two numbers, a name and eleven numbers");
    let mut columns = line.split_whitespace().skip(2);
    let name = columns.next().ok_or_else(wrong)?.to_owned();
    let counters: Vec<u64> = columns.map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
    let [reads, _, sectors_read, _, writes, _, sectors_written, _, in_flight, busy_ms, _, ..] = counters[..] else {
        return Err(wrong());
    };
    Ok(DiskCounters {
        name,
        reads,
        read_bytes: sectors_read.saturating_mul(SECTOR),
        writes,
        written_bytes: sectors_written.saturating_mul(SECTOR),
        in_flight,
        busy_ms,
    })
}

/// `mmcblk0`, `sda`, `nvme0n1`, `vda`; not `mmcblk0p1`, `mmcblk0boot0`, `sda1`, `nvme0n1p2`.
pub fn is_whole_disk(name: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let letters = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase());
    if let Some(number) = name.strip_prefix("mmcblk") {
        return digits(number);
    }
    if let Some((controller, namespace)) = name.strip_prefix("nvme").and_then(|rest| rest.split_once('n')) {
        return digits(controller) && digits(namespace);
    }
    ["xvd", "sd", "vd", "hd"].iter().any(|prefix| name.strip_prefix(prefix).is_some_and(letters))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_is_whole_disks_in_bytes() {
        let text = " 179       0 mmcblk0 73808 14004 10649174 274785 22425 34199 2609932 740017 2 213246 1014803 0 0 0 0 0 0\n \
            179       2 mmcblk0p2 73000 14000 10000000 270000 22000 34000 2600000 740000 0 213000 1014000 0 0 0 0 0 0\n";
        let [card] = &parse(text).unwrap()[..] else { panic!("one disk") };
        assert_eq!(
            *card,
            DiskCounters {
                name: "mmcblk0".into(),
                reads: 73_808,
                read_bytes: 10_649_174 * 512,
                writes: 22_425,
                written_bytes: 2_609_932 * 512,
                in_flight: 2,
                busy_ms: 213_246
            }
        );
    }

    #[test]
    fn which_names_are_whole_disks() {
        for whole in ["mmcblk0", "mmcblk10", "sda", "sdaa", "nvme0n1", "nvme10n12", "vda", "xvdb", "hdc"] {
            assert!(is_whole_disk(whole), "{whole}");
        }
        for part in
            ["mmcblk0p1", "mmcblk0boot0", "sda1", "nvme0n1p2", "loop0", "ram0", "zram0", "dm-0", "sr0", "sd", "md0"]
        {
            assert!(!is_whole_disk(part), "{part}");
        }
    }

    #[test]
    fn malformed_and_empty() {
        assert_eq!(parse("").unwrap(), []);
        for bad in ["sda\n", "8 0 sda 1 2 3\n", "8 0 sda a b c d e f g h i j k\n"] {
            assert_eq!(parse(bad).unwrap_err().kind(), io::ErrorKind::InvalidData, "{bad:?}");
        }
    }
}
