//! Lists every name in a file system, including subfolders, to find files that are not allowed.

use super::{FIRST, Fat, FatType, Root, bad};
use std::io;

/// Fills the buffer from an offset in the file system.
pub type ReadAt<'a> = dyn FnMut(u64, &mut [u8]) -> io::Result<()> + 'a;

/// Limit of directory bytes read: 131072 entries. A boot partition has some hundreds.
const MOST_FOLDERS: u64 = 4 << 20;
const PAGE: u64 = 4096;
const ENTRY: u64 = 32;

impl Fat {
    /// Calls `seen` with every name of every file and folder, long and short. Includes anything that some reader might
    /// accept as a name, such as a long name with a wrong checksum.
    ///
    /// `read` is called for whole pages of 4096 bytes at multiples of 4096 (the last may be shorter).
    ///
    /// # Errors
    /// Those of `read` and of `seen`; `InvalidData` when it is not a FAT, when a folder's cluster is invalid, or when
    /// the folders exceed the limit.
    pub fn names<E: From<io::Error>>(
        size: u64,
        read: &mut ReadAt<'_>,
        seen: &mut dyn FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut pages = Pages { read, size, page: Vec::new(), at: None };
        let mut first = [0; FIRST];
        pages.bytes(0, &mut first)?;
        let fat = Self::parse(&first, size)?;
        let mut left = MOST_FOLDERS;
        let mut todo = vec![fat.root];
        while let Some(mut piece) = todo.pop() {
            let mut long = LongName::default();
            'folder: loop {
                let (at, length) = match piece {
                    Root::Fixed { at, entries } => (at, u64::from(entries) * ENTRY),
                    Root::Chain(cluster) => (fat.place(cluster)?, fat.cluster),
                };
                left = left.checked_sub(length).ok_or_else(|| bad("its folders have no end"))?;
                for n in 0..length / ENTRY {
                    let mut entry = [0; ENTRY as usize];
                    pages.bytes(at + n * ENTRY, &mut entry)?;
                    if entry[0] == 0 {
                        break 'folder;
                    }
                    if let Some(folder) = fat.entry(&entry, &mut long, seen)? {
                        todo.push(folder);
                    }
                }
                let Root::Chain(cluster) = piece else { break };
                let (at, length) = fat.link(cluster)?;
                let mut word = [0; 4];
                pages.bytes(at, &mut word[..length])?;
                match fat.linked(cluster, word) {
                    Some(next) => piece = Root::Chain(next),
                    None => break,
                }
            }
        }
        Ok(())
    }

    /// Reports an entry's names. Returns the position of its own entries if it is a folder.
    fn entry<E>(
        &self,
        entry: &[u8; ENTRY as usize],
        long: &mut LongName,
        seen: &mut dyn FnMut(&str) -> Result<(), E>,
    ) -> Result<Option<Root>, E> {
        const DELETED: u8 = 0xe5;
        const LONG: u8 = 0x0f;
        const LABEL: u8 = 0x08;
        const FOLDER: u8 = 0x10;
        let attributes = entry[11];
        if entry[0] != DELETED && attributes & 0x3f == LONG {
            long.take(entry);
            return Ok(None);
        }
        let long = std::mem::take(long);
        if entry[0] == DELETED || attributes & LABEL != 0 {
            return Ok(None);
        }
        seen(&long.text())?;
        seen(&String::from_utf8_lossy(&super::directory::short(entry)))?;
        if attributes & FOLDER == 0 || entry[0] == b'.' {
            return Ok(None);
        }
        let half = |at: usize| u32::from(u16::from_le_bytes([entry[at], entry[at + 1]]));
        Ok(Some(Root::Chain(half(26) | if self.kind == FatType::Fat32 { half(20) << 16 } else { 0 })))
    }
}

/// Reads through a buffer of one page.
struct Pages<'r, 'a> {
    read: &'r mut ReadAt<'a>,
    size: u64,
    page: Vec<u8>,
    at: Option<u64>,
}

impl Pages<'_, '_> {
    fn bytes(&mut self, mut at: u64, mut into: &mut [u8]) -> io::Result<()> {
        if at.checked_add(into.len() as u64).is_none_or(|end| end > self.size) {
            return Err(bad("it ends before what it points to"));
        }
        while !into.is_empty() {
            let start = at - at % PAGE;
            if self.at != Some(start) {
                self.at = None;
                self.page.resize((self.size - start).min(PAGE) as usize, 0);
                (self.read)(start, &mut self.page)?;
                self.at = Some(start);
            }
            let from = &self.page[(at - start) as usize..];
            let length = from.len().min(into.len());
            into[..length].copy_from_slice(&from[..length]);
            into = &mut into[length..];
            at += length as u64;
        }
        Ok(())
    }
}

/// A long name, collected from its entries: 13 characters each, the last part first. Less strict than
/// [`super::directory`]'s, which finds one file: here anything that could be a name counts.
#[derive(Default)]
struct LongName(Vec<u16>);

impl LongName {
    fn take(&mut self, entry: &[u8; ENTRY as usize]) {
        // 20 entries are 260 characters, the longest possible name.
        if entry[0] & 0x40 != 0 || self.0.len() >= 260 {
            self.0.clear();
        }
        let places = (1..11).step_by(2).chain((14..26).step_by(2)).chain((28..32).step_by(2));
        self.0.splice(0..0, places.map(|at| u16::from_le_bytes([entry[at], entry[at + 1]])));
    }

    fn text(self) -> String {
        let end = self.0.iter().position(|letter| *letter == 0 || *letter == 0xffff).unwrap_or(self.0.len());
        String::from_utf16_lossy(&self.0[..end])
    }
}
