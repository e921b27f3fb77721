//! Both slots and the last update, for people.

use crate::terminal::printable;
use base::clock::Stamp;
use std::fmt::Write;
use update::{job::phase_word, status::UpdateStatus};

/// The whole text, without the final newline.
pub fn drawn(status: &UpdateStatus) -> String {
    let mut text = format!("boot flow {}{}\n", status.flow, if status.simulated { ", simulated" } else { "" });
    for slot in &status.slots {
        let state = format!("{:?}", slot.state).to_lowercase();
        let version = printable(slot.version.as_deref().unwrap_or("-"));
        let mark = match (slot.running, slot.next) {
            (true, true) => "runs, and starts next",
            (true, false) => "runs",
            (false, true) => "starts next",
            (false, false) => "",
        };
        let _ = write!(text, "slot {}  {state:<8} {version:<16} {mark}", slot.slot);
        if let Some(note) = &slot.note {
            let _ = write!(text, "  ({})", printable(note));
        }
        text.push('\n');
    }
    if let Some(left) = status.trial_seconds_left {
        let _ = writeln!(text, "a trial runs, with {left} s left to prove itself");
    }
    if let Some(last) = &status.last_attempt {
        let when = Stamp(last.finished_ms.unwrap_or(last.started_ms));
        let (version, phase) = (printable(&last.version), phase_word(last.phase).replace('_', " "));
        let _ = writeln!(text, "last update: {version} into slot {}, {phase}, {when}", last.target);
        for (what, why) in [("because", Some(&last.reason)), ("restarted by", last.reset_cause.as_ref())] {
            if let Some(why) = why.filter(|why| !why.is_empty()) {
                let _ = writeln!(text, "  {what} {}", printable(why));
            }
        }
        for line in last.log_tail.iter().flat_map(|tail| tail.lines()) {
            let _ = writeln!(text, "  | {}", printable(line));
        }
    }
    for blocked in &status.blocked {
        let who = if blocked.by_person { "not installed by itself" } else { "blocked" };
        let _ = writeln!(text, "{who}: {}, {}", printable(&blocked.version), printable(&blocked.reason));
        let _ = writeln!(text, "  raspi-mcp slot unblock {}", printable(&blocked.manifest_sha256));
    }
    for fault in &status.faults {
        let _ = writeln!(text, "fault: {}", printable(fault));
    }
    text.truncate(text.trim_end().len());
    text
}
