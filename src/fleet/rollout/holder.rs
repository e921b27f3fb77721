//! Who holds a lock, for a sentence about it; nothing is decided by it.
//!
//! Sources: proc_locks(5) for the process that has a lock of `flock(2)`, proc_pid_stat(5) for its state.

use base::{clock, error::ToolError, os::Root};
use rustix::fs::{major, minor};
use serde::{Deserialize, Serialize};
use std::{fs, io, os::unix::fs::MetadataExt, path::Path};

/// Characters of a command line that are told, at most.
const COMMAND: usize = 120;

/// What whoever holds a lock file wrote into it.
#[derive(Debug, Serialize, Deserialize)]
pub struct LockNote {
    pub pid: u32,
    pub host: String,
    /// RFC 3339, by the clock of that host.
    pub since: String,
    /// The file that gets the index's name: no other note has it.
    pub file: String,
}

impl LockNote {
    /// Of this process, now.
    pub fn mine(file: String) -> Self {
        Self { pid: std::process::id(), host: host(), since: clock::now(), file }
    }

    /// Who it is, for people.
    fn sentence(&self) -> String {
        let Self { pid, host: there, since, .. } = self;
        match *there == host() {
            true => format!("{} since {since}", process(*pid)),
            false => format!("process {pid} on {there} since {since}"),
        }
    }
}

/// This machine's name.
fn host() -> String {
    base::os::host_name::kept(&Root::system()).unwrap_or_else(|| "this machine".into())
}

/// A holder of whom nothing is known.
pub const UNKNOWN: &str = "a process that did not say who it is";

/// Who made the lock file with this content; `None` if it does not say so, as one of an older version.
pub fn of_note(content: &[u8]) -> Option<String> {
    serde_json::from_slice::<LockNote>(content).ok().map(|note| note.sentence())
}

/// Who has the lock of `flock(2)` on this file or folder.
pub fn of_lock(path: &Path) -> String {
    let pid = fs::metadata(path).ok().and_then(|about| {
        let file = format!("{:02x}:{:02x}:{}", major(about.dev()), minor(about.dev()), about.ino());
        locker(&fs::read_to_string("/proc/locks").ok()?, &file)
    });
    pid.map_or_else(|| "a process on another machine, or one that this one does not show".into(), process)
}

/// The process in a line of /proc/locks like `1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF`. One that only waits has `->` before
/// its kind.
fn locker(locks: &str, file: &str) -> Option<u32> {
    let fields = locks.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let mut holders = fields.filter(|fields| fields.get(1) == Some(&"FLOCK") && fields.get(5) == Some(&file));
    holders.next()?.get(4)?.parse().ok().filter(|pid| *pid != 0)
}

/// A process of this machine: its number, its command, and whether it is stopped.
fn process(pid: u32) -> String {
    let command = match fs::read(format!("/proc/{pid}/cmdline")) {
        Ok(command) => command,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return format!("process {pid}, which has ended"),
        // Another user's, where those are hidden.
        Err(_) => return format!("process {pid}"),
    };
    let command = String::from_utf8_lossy(&command).trim_end_matches('\0').replace('\0', " ");
    let command: String = command.chars().filter(|letter| !letter.is_control()).take(COMMAND).collect();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    let state = match state {
        Some('T' | 't') => ", which is stopped",
        Some('D') => ", which waits for a disk",
        _ => "",
    };
    format!("process {pid} ({command}){state}")
}

/// The detail of an error by which [`is_held`] knows it.
const HELD: &str = "held_by";

/// The error while `who` holds `what`.
pub fn held(what: &Path, who: &str) -> ToolError {
    let message = format!("{} is held by {who}", what.display());
    ToolError::new(base::error::ErrorCode::Conflict, message).with(HELD, who)
}

/// Whether somebody else holds what was needed.
pub fn is_held(error: &ToolError) -> bool {
    error.details.contains_key(HELD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::os::lock::Lock;

    #[test]
    fn the_holder_of_a_lock_is_found_and_who_waits_for_it_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(of_lock(folder.path()).contains("on another machine"), "nobody has it");
        let _held = Lock::take(fs::File::open(folder.path()).unwrap()).unwrap().unwrap();
        let who = of_lock(folder.path());
        assert!(who.starts_with(&format!("process {} (", std::process::id())), "{who}");
        let locks = "1: FLOCK  ADVISORY  WRITE 12 08:01:5 0 EOF\n2: POSIX  ADVISORY  WRITE 13 08:01:6 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 14 08:01:6 0 EOF\n3: -> FLOCK  ADVISORY  WRITE 15 08:01:7 0 EOF\n";
        let of = |file: &str| locker(locks, file);
        assert_eq!((of("08:01:5"), of("08:01:6"), of("08:01:7")), (Some(12), Some(14), None));
    }

    #[test]
    fn a_note_says_which_process_of_which_machine() {
        let mine = of_note(&serde_json::to_vec(&LockNote::mine("x".into())).unwrap()).unwrap();
        assert!(mine.contains(&std::process::id().to_string()) && mine.contains(" since 2"), "{mine}");
        let other = of_note(br#"{"pid":7,"host":"other","since":"2026-11-29T10:00:00.000Z","file":"x"}"#);
        assert_eq!(other.as_deref(), Some("process 7 on other since 2026-11-29T10:00:00.000Z"));
        assert_eq!(of_note(b""), None);
    }
}
