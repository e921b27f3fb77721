//! What a trial that died left behind. The kernel keeps its last words in memory, and does not say of which boot they are: words that were
//! there when the trial was armed or began are older than it.

use super::Pending;
use crate::{
    boot::{Evidence, ResetCause},
    bundle::Digest,
};

/// Longest log tail that is recorded, in bytes.
pub const LONGEST_LOG: usize = 4096;
/// Most words that are known again, so that the record does not grow.
const MOST_HEARD: usize = 24;

/// The end of `log`, whole letters.
pub(super) fn tail(log: &str) -> String {
    log[log.ceil_char_boundary(log.len().saturating_sub(LONGEST_LOG))..].to_owned()
}

/// What is there now is not of what comes next.
pub(super) fn hear(update: &mut Pending, seen: &Evidence) {
    for digest in seen.last_words.iter().map(|words| Digest::of(words.as_bytes())) {
        if !update.heard.contains(&digest) && update.heard.len() < MOST_HEARD {
            update.heard.push(digest);
        }
    }
}

/// The trial's, right after it ended.
pub(super) fn of_trial(update: Option<&Pending>, seen: &Evidence) -> Option<String> {
    use ResetCause::{OverVoltage, PowerOn, SwitchedOff, UnderVoltage};
    // Memory without power forgets: whatever is there is a copy of older words.
    if matches!(seen.reset, Some(PowerOn | UnderVoltage | OverVoltage | SwitchedOff)) {
        return None;
    }
    let heard = &update?.heard;
    seen.last_words.iter().find(|words| !heard.contains(&Digest::of(words.as_bytes()))).map(|words| tail(words))
}
