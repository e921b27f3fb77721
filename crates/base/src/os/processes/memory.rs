//! A process' memory: `smaps_rollup` and `smaps` (the kernel's Documentation/filesystems/proc.rst).

use crate::os::{Root, malformed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, io};

/// What a process holds, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(expecting = "struct Memory")]
pub struct ProcessMemory {
    /// Resident.
    pub rss: u64,
    /// Its share: what it has with others counts in parts.
    pub pss: u64,
    /// What would be free if it ended.
    pub uss: u64,
    pub swap: u64,
}

/// One file or region that is mapped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Map {
    pub path: String,
    /// Resident bytes.
    pub rss: u64,
    /// Bytes.
    pub size: u64,
    /// Of its first part.
    pub perms: String,
}

/// Limit of mappings in an answer; the largest are kept.
const MOST: usize = 64;

/// # Errors
/// `PermissionDenied` for processes of others; `NotFound` before Linux 4.14.
pub fn rollup(root: &Root, pid: u32) -> io::Result<ProcessMemory> {
    let path = format!("proc/{pid}/smaps_rollup");
    parse_rollup(&root.read(&path)?).ok_or_else(|| malformed(&path, "it has no Rss"))
}

fn parse_rollup(text: &str) -> Option<ProcessMemory> {
    let of = |name: &str| text.lines().find_map(|line| kilobytes(line, name));
    Some(ProcessMemory {
        rss: of("Rss:")?,
        pss: of("Pss:")?,
        uss: of("Private_Clean:")? + of("Private_Dirty:")?,
        swap: of("Swap:").unwrap_or(0),
    })
}

fn kilobytes(line: &str, name: &str) -> Option<u64> {
    line.strip_prefix(name)?.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// The mappings, combined per file, largest first.
///
/// # Errors
/// As [`rollup`]; `InvalidData` for a process whose mappings exceed 512 KiB of text.
pub fn maps(root: &Root, pid: u32) -> io::Result<Vec<Map>> {
    Ok(parse_maps(&root.read(&format!("proc/{pid}/smaps"))?))
}

fn parse_maps(text: &str) -> Vec<Map> {
    let mut maps: Vec<Map> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut at = None;
    for line in text.lines() {
        if let Some(map) = at.and_then(|at: usize| maps.get_mut(at)) {
            if let Some(bytes) = kilobytes(line, "Rss:") {
                map.rss += bytes;
                continue;
            } else if let Some(bytes) = kilobytes(line, "Size:") {
                map.size += bytes;
                continue;
            }
        }
        // `55e0-55e1 r--p 00000000 08:01 131 /usr/bin/cat`; attributes are `Name: ...`.
        let mut fields = line.split_ascii_whitespace();
        let (Some(range), Some(perms)) = (fields.next(), fields.next()) else { continue };
        if range.ends_with(':') || !range.contains('-') {
            continue;
        }
        let path = fields.skip(3).collect::<Vec<_>>().join(" ");
        let path = if path.is_empty() { "[anonymous]".to_owned() } else { path };
        at = Some(*places.entry(path.clone()).or_insert_with(|| {
            maps.push(Map { path, rss: 0, size: 0, perms: perms.to_owned() });
            maps.len() - 1
        }));
    }
    crate::sort::sort_by(&mut maps, |a, b| b.rss.cmp(&a.rss).then_with(|| a.path.cmp(&b.path)));
    maps.truncate(MOST);
    maps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollup_is_read_good_and_malformed() {
        let text = "55-7f ---p 00000000 00:00 0    [rollup]\nRss:   892 kB\nPss:   100 kB\nPrivate_Clean: 4 kB\nPrivate_Dirty: 96 kB\nSwap: 8 kB\n";
        assert_eq!(
            parse_rollup(text),
            Some(ProcessMemory { rss: 892 << 10, pss: 100 << 10, uss: 100 << 10, swap: 8 << 10 })
        );
        assert_eq!(parse_rollup("Rss: many kB\n"), None);
    }

    #[test]
    fn parts_of_one_file_count_together() {
        let text = "1-2 r--p 0 08:01 1 /bin/a b\nSize: 4 kB\nRss: 4 kB\n2-3 r-xp 0 08:01 1 /bin/a b\nSize: 8 kB\nRss: 0 kB\nVmFlags: rd\n3-4 rw-p 0 00:00 0\nSize: 16 kB\nRss: 16 kB\n";
        let maps = parse_maps(text);
        assert_eq!(
            maps.iter().map(|map| (map.path.as_str(), map.size >> 10)).collect::<Vec<_>>(),
            [("[anonymous]", 16), ("/bin/a b", 12)]
        );
        assert_eq!(maps[1].perms, "r--p");
    }
}
