//! All descendants of this process, by the parent ids in `/proc`.

use base::os::{Root, processes::Proc};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::HashSet;

/// Rounds against processes that only fork, before giving up; the next call continues.
const ROUNDS: usize = 64;

/// Sends `signal` to every descendant.
pub(super) fn signal_all(signal: Signal) {
    for pid in descendants() {
        // It may have ended.
        let _ = kill_process(pid, signal);
    }
}

/// Stops every descendant until a scan finds no new one, then kills them: a stopped process cannot fork.
pub(super) fn kill_all() {
    let mut stopped = HashSet::new();
    for _ in 0..ROUNDS {
        let new: Vec<Pid> = descendants().into_iter().filter(|pid| stopped.insert(*pid)).collect();
        if new.is_empty() {
            break;
        }
        for pid in new {
            let _ = kill_process(pid, Signal::STOP);
        }
    }
    for pid in stopped {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// The descendants that have not ended. Their ids cannot be reused meanwhile: only one of them, or this process, could
/// reap them.
fn descendants() -> Vec<Pid> {
    let all = Proc::open(&Root::system()).and_then(|mut proc| proc.all()).unwrap_or_default();
    let mut family = HashSet::from([std::process::id()]);
    let mut found = Vec::new();
    // A child may be listed before its parent: repeat to a fixpoint.
    loop {
        let before = found.len();
        for stat in all.iter().filter(|stat| stat.state != 'Z' && stat.state != 'X') {
            if family.contains(&stat.ppid) && family.insert(stat.pid) {
                found.extend(i32::try_from(stat.pid).ok().and_then(Pid::from_raw));
            }
        }
        if found.len() == before {
            return found;
        }
    }
}
