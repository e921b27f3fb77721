//! A process' memory: `smaps_rollup` and `smaps` (the kernel's Documentation/filesystems/proc.rst).

use crate::os::{Root, malformed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, io, ops::ControlFlow};

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
/// Limit of files that are told apart.
const FILES: usize = 4096;

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

/// The mappings, combined per file, largest first; beyond 4,096 files the further ones count together as
/// `[further files]`. Read in parts: a process may have tens of thousands of mappings.
///
/// # Errors
/// As [`rollup`]; `InvalidData` for a process whose mappings exceed 64 MiB of text.
pub fn maps(root: &Root, pid: u32) -> io::Result<Vec<Map>> {
    let mut maps = Maps::default();
    root.each_line::<()>(&format!("proc/{pid}/smaps"), |line| {
        maps.add(&String::from_utf8_lossy(line));
        ControlFlow::Continue(())
    })?;
    Ok(maps.finish())
}

/// The mappings read so far.
#[derive(Default)]
struct Maps {
    all: Vec<Map>,
    /// By path.
    places: HashMap<String, usize>,
    /// The one that the lines are about.
    at: Option<usize>,
}

impl Maps {
    fn add(&mut self, line: &str) {
        if let Some(map) = self.at.and_then(|at| self.all.get_mut(at)) {
            if let Some(bytes) = kilobytes(line, "Rss:") {
                map.rss += bytes;
                return;
            } else if let Some(bytes) = kilobytes(line, "Size:") {
                map.size += bytes;
                return;
            }
        }
        // `55e0-55e1 r--p 00000000 08:01 131 /usr/bin/cat`; attributes are `Name: ...`.
        let mut fields = line.split_ascii_whitespace();
        let (Some(range), Some(perms)) = (fields.next(), fields.next()) else { return };
        if range.ends_with(':') || !range.contains('-') {
            return;
        }
        let path = fields.skip(3).collect::<Vec<_>>().join(" ");
        let path = match path.as_str() {
            "" => "[anonymous]".to_owned(),
            known if self.places.len() < FILES || self.places.contains_key(known) => path,
            _ => "[further files]".to_owned(),
        };
        let all = &mut self.all;
        self.at = Some(*self.places.entry(path).or_insert_with_key(|path| {
            all.push(Map { path: path.clone(), rss: 0, size: 0, perms: perms.to_owned() });
            all.len() - 1
        }));
    }

    fn finish(mut self) -> Vec<Map> {
        crate::sort::sort_by(&mut self.all, |a, b| b.rss.cmp(&a.rss).then_with(|| a.path.cmp(&b.path)));
        self.all.truncate(MOST);
        self.all
    }
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
        let dir = tempfile::tempdir().unwrap();
        let maps = maps_of(dir.path(), text);
        assert_eq!(
            maps.iter().map(|map| (map.path.as_str(), map.size >> 10)).collect::<Vec<_>>(),
            [("[anonymous]", 16), ("/bin/a b", 12)]
        );
        assert_eq!(maps[1].perms, "r--p");
    }

    fn maps_of(dir: &std::path::Path, smaps: impl AsRef<[u8]>) -> Vec<Map> {
        std::fs::create_dir_all(dir.join("proc/7")).unwrap();
        std::fs::write(dir.join("proc/7/smaps"), smaps).unwrap();
        maps(&Root::at(dir), 7).unwrap()
    }

    #[test]
    fn thousands_of_mappings_are_read_in_parts_and_none_of_their_bytes_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        let lines = |at: usize| {
            let rest = "Pss:     4 kB\nAnonymous: 0 kB\nVmFlags: rd wr mr mw me ac sd\n".repeat(2);
            format!("{at:x}-{:x} rw-p 0 08:01 {at} /srv/{at}\nSize: 8 kB\nRss: 4 kB\n{rest}", at + 1).into_bytes()
        };
        let mut smaps: Vec<u8> = (0..6000).flat_map(lines).collect();
        smaps.extend(b"1-2 r--p 0 08:01 1 /srv/M\xfcsik\nSize: 4 kB\nRss: 4 kB\n");
        assert!(smaps.len() > 512 * 1024);
        let found = maps_of(dir.path(), &smaps);
        assert_eq!(found.len(), MOST);
        let further = 6001 - FILES as u64;
        assert_eq!(
            (found[0].path.as_str(), found[0].rss, found[0].size),
            ("[further files]", further * 4096, (6000 - FILES as u64) * 8192 + 4096)
        );
        let latin = maps_of(dir.path(), b"1-2 r--p 0 08:01 1 /srv/M\xfcsik\nSize: 4 kB\nRss: 4 kB\n");
        assert_eq!(latin[0].path, "/srv/M\u{fffd}sik");
    }
}
