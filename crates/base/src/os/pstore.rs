//! Kernel messages from before a restart, kept in reserved memory: a crash as `dmesg-ramoops-0`, the console's output
//! as `console-ramoops-0`.
//!
//! `Documentation/admin-guide/ramoops.rst` and `Documentation/ABI/testing/pstore` of Linux; systemd-pstore.service(8), which moves the files.

use super::root::Root;
use crate::redact::redact_text;
use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

/// The kernel's folder, and the one that systemd moves the files to.
const PLACES: [&str; 2] = ["sys/fs/pstore", "var/lib/systemd/pstore"];
const CRASH: &str = "dmesg-ramoops-";
/// Always of the last boot: its memory is reused at each start.
const CONSOLE: &str = "console-ramoops-0";
/// Limit of crashes read per folder.
const MOST_CRASHES: usize = 4;

/// The last whole lines of each message, from its last `longest` bytes, with secrets masked: crashes before consoles,
/// and of one boot's crashes the last one first. None of them says which boot it is from. Unreadable ones are skipped.
pub fn last_words(root: &Root, longest: usize) -> Vec<String> {
    let mut files = Vec::new();
    for place in PLACES {
        // Sorted by number, which counts the crashes of a boot.
        let names = root.list(place).unwrap_or_default();
        let crashes = names.into_iter().rev().filter(|name| is_crash(name)).take(MOST_CRASHES);
        files.extend(crashes.map(|name| format!("{place}/{name}")));
    }
    files.extend(PLACES.map(|place| format!("{place}/{CONSOLE}")));
    let words = files.iter().filter_map(|file| tail(&root.path(file), longest).ok());
    words.map(|(bytes, cut)| redact_text(&readable(&bytes, cut))).filter(|words| !words.is_empty()).collect()
}

/// Excludes `dmesg-ramoops-0.enc.z`, which the kernel could not unpack.
fn is_crash(name: &str) -> bool {
    name.strip_prefix(CRASH).is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The end of a file, and whether it was cut.
fn tail(path: &Path, longest: usize) -> io::Result<(Vec<u8>, bool)> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut file = File::open(path)?;
    let before = file.seek(SeekFrom::End(0))?.saturating_sub(longest as u64);
    file.seek(SeekFrom::Start(before))?;
    let mut bytes = Vec::new();
    file.take(longest as u64).read_to_end(&mut bytes)?;
    Ok((bytes, before > 0))
}

/// As text: memory damaged by a restart is decoded lossily, and colour sequences of consoles are removed.
fn readable(bytes: &[u8], cut: bool) -> String {
    let first = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let whole = if cut && first < bytes.len() { first } else { 0 };
    let text = String::from_utf8_lossy(&bytes[whole..]);
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' && letters.next_if_eq(&'[').is_some() {
            // ECMA-48, section 5.4: parameters, then one final byte.
            let _ = letters.by_ref().find(|letter| ('\u{40}'..='\u{7e}').contains(letter));
        } else if !letter.is_control() || matches!(letter, '\n' | '\t') {
            plain.push(letter);
        }
    }
    plain.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_damage_do_not_hide_what_was_said() {
        assert_eq!(readable(b"\0\0[ 1.0] a\r\n\x1b[0;32m OK \x1b[0m b\x1b\n\n", false), "[ 1.0] a\n OK  b");
        assert_eq!(readable(b"alf a line\nwhole", true), "whole");
        assert_eq!(readable(b"one long line\n", true), "one long line");
        assert_eq!(readable(b"\xff\xfe panic", false), "\u{fffd}\u{fffd} panic");
        assert_eq!(readable(b"\x1b[31", false), "");
    }

    #[test]
    fn the_longest_tail_is_of_bytes_and_the_last_crash_of_a_boot_comes_first() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        assert_eq!(last_words(&root, 9), [""; 0]);
        let put = |file: &str, words: &[u8]| {
            let path = root.path(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, words).unwrap();
        };
        put("sys/fs/pstore/console-ramoops-0", b"the console");
        put("sys/fs/pstore/dmesg-ramoops-0", b"an oops");
        put("sys/fs/pstore/dmesg-ramoops-1", b"before\na panic");
        put("sys/fs/pstore/dmesg-ramoops-2.enc.z", b"packed");
        put("sys/fs/pstore/dmesg-ramoops-3/no-file", b"");
        put("var/lib/systemd/pstore/dmesg-ramoops-0", b"moved");
        assert_eq!(last_words(&root, 9), ["a panic", "an oops", "moved", "e console"]);
    }
}
