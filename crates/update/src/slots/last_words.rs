//! Crash messages of a failed trial. The kernel keeps them in memory without saying which boot they are from: messages
//! that existed when the trial was armed or began are older than it.

use super::PendingUpdate;
use crate::{
    boot::{Evidence, ResetCause},
    bundle::Digest,
};

/// Longest log tail that is recorded, in bytes.
pub const LONGEST_LOG: usize = 4096;
/// Most hashes of known messages, so that the record does not grow.
const MOST_HEARD: usize = 24;

/// The end of `log`, cut at a character.
pub(super) fn tail(log: &str) -> String {
    log[log.ceil_char_boundary(log.len().saturating_sub(LONGEST_LOG))..].to_owned()
}

/// Marks the present messages as older than the next trial.
pub(super) fn hear(update: &mut PendingUpdate, seen: &Evidence) {
    for digest in seen.last_words.iter().map(|words| Digest::of(words.as_bytes())) {
        if !update.heard.contains(&digest) && update.heard.len() < MOST_HEARD {
            update.heard.push(digest);
        }
    }
}

/// The trial's messages, just after it ended.
pub(super) fn of_trial(update: Option<&PendingUpdate>, seen: &Evidence) -> Option<String> {
    use ResetCause::{OverVoltage, PowerOn, SwitchedOff, UnderVoltage};
    // Memory is lost without power: whatever is there is a copy of older messages.
    if matches!(seen.reset, Some(PowerOn | UnderVoltage | OverVoltage | SwitchedOff)) {
        return None;
    }
    let heard = &update?.heard;
    seen.last_words.iter().find(|words| !heard.contains(&Digest::of(words.as_bytes()))).map(|words| tail(words))
}
