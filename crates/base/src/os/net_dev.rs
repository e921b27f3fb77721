//! Traffic of each network interface: `/proc/net/dev`, and its link speed from `/sys/class/net`.

use super::{Root, malformed};
use std::io;

const FILE: &str = "proc/net/dev";

/// Counters of one interface since it came up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceCounters {
    pub name: String,
    pub received: Counters,
    pub sent: Counters,
}

/// One direction of one interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub bytes: u64,
    pub packets: u64,
    pub errors: u64,
    pub drops: u64,
}

/// Every interface except the loopback, in the kernel's order.
///
/// # Errors
/// `NotFound` without procfs, `InvalidData` when a line is not a name and sixteen numbers.
pub fn read(root: &Root) -> io::Result<Vec<InterfaceCounters>> {
    parse(&root.read(FILE)?)
}

/// Bits per second of the link in each direction; `None` when the driver does not report it (Wi-Fi, bridges, no cable).
pub fn link_bits_per_second(root: &Root, interface: &str) -> Option<u64> {
    let megabits = root.number(&format!("sys/class/net/{interface}/speed")).ok()?;
    u64::try_from(megabits).ok().filter(|megabits| *megabits > 0).map(|megabits| megabits * 1_000_000)
}

fn parse(text: &str) -> io::Result<Vec<InterfaceCounters>> {
    // Skips the two heading lines, recognised by their bar, which an interface's name cannot contain.
    text.lines()
        .filter(|line| !line.contains('|') && !line.trim().is_empty())
        .map(interface)
        .filter(not_loopback)
        .collect()
}

fn not_loopback(interface: &io::Result<InterfaceCounters>) -> bool {
    interface.as_ref().map_or(true, |interface| interface.name != "lo")
}

fn interface(line: &str) -> io::Result<InterfaceCounters> {
    let wrong = || malformed(FILE, "a line is not an interface's name and sixteen numbers");
    let (name, counters) = line.rsplit_once(':').ok_or_else(wrong)?;
    let counters: Vec<u64> =
        counters.split_whitespace().map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
    if counters.len() < 16 {
        return Err(wrong());
    }
    let direction = |first: usize| Counters {
        bytes: counters[first],
        packets: counters[first + 1],
        errors: counters[first + 2],
        drops: counters[first + 3],
    };
    Ok(InterfaceCounters { name: name.trim().to_owned(), received: direction(0), sent: direction(8) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "Inter-|   Receive                            |  Transmit\n \
        face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
        lo:    3193      29    0    0    0     0          0         0     3193      29    0    0    0     0       0          0\n  \
        eth0: 371858328   12315    1    2    0     0          0         0   875380    7532    3    4    0     0       0          0\n";

    #[test]
    fn good_without_the_loopback() {
        let [eth0] = &parse(GOOD).unwrap()[..] else { panic!("one interface") };
        assert_eq!(eth0.name, "eth0");
        assert_eq!(eth0.received, Counters { bytes: 371_858_328, packets: 12_315, errors: 1, drops: 2 });
        assert_eq!(eth0.sent, Counters { bytes: 875_380, packets: 7_532, errors: 3, drops: 4 });
    }

    #[test]
    fn a_name_with_a_colon_and_no_space_before_the_numbers() {
        let line = "eth0:1:5 6 0 0 0 0 0 0 7 8 0 0 0 0 0 0\n";
        assert_eq!(parse(line).unwrap()[0].name, "eth0:1");
    }

    #[test]
    fn malformed_and_empty() {
        assert_eq!(parse("").unwrap(), []);
        for bad in ["eth0 1 2\n", "eth0: 1 2 3\n", "eth0: a b c d e f g h i j k l m n o p\n"] {
            assert_eq!(parse(bad).unwrap_err().kind(), io::ErrorKind::InvalidData, "{bad:?}");
        }
    }
}
