//! The log messages that the broker has not confirmed, and what was told already: one file, written when it changes.

use crate::notifications::MOST_AN_HOUR;
use base::{error::ToolError, os::whole};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fs, io, io::Write, path::Path};

/// Messages that wait, at most: 64 KiB.
const MOST: usize = 32;
const HOUR_MS: u64 = 3_600_000;

/// A lost file means that the last update is told once more.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LogQueue {
    /// Signed, oldest first.
    pub messages: Vec<String>,
    /// How many were ever dropped because too many waited.
    dropped: u64,
    /// The result of an update that was told last, as JSON.
    update: String,
    /// Asks that were told, and when, in ms since 1970 UTC.
    asks: Vec<(String, i64)>,
    /// When a head of the audit was told last, in ms since 1970 UTC.
    pub audit_ms: i64,
}

impl LogQueue {
    pub fn load(file: &Path) -> Self {
        let read = fs::read(file).and_then(|bytes| serde_json::from_slice(&bytes).map_err(io::Error::from));
        read.unwrap_or_else(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(target: "fleet", %error, file = %file.display(), "log messages that waited for the broker are lost");
            }
            Self::default()
        })
    }

    /// Replaces `file` atomically.
    ///
    /// # Errors
    /// `unavailable`.
    pub fn save(file: &Path, text: &[u8]) -> Result<(), ToolError> {
        whole::replace(file, 0o600, |open| open.write_all(text)).map_err(|error| {
            ToolError::unavailable(format!("{} cannot be written: {error}", file.display()))
                .hint("check the space and the permissions of the state directory")
        })
    }

    /// How many will have been dropped when one more waits.
    pub fn dropped(&self) -> u64 {
        self.dropped + u64::from(self.messages.len() >= MOST)
    }

    /// Whether to tell this ask: each once, and [`MOST_AN_HOUR`] in an hour. `pending`: all that wait for a person.
    pub fn wants(&mut self, id: &str, pending: &[String], now_ms: i64) -> bool {
        self.asks.retain(|(told, at)| now_ms.abs_diff(*at) < HOUR_MS || pending.contains(told));
        self.asks.len() < MOST_AN_HOUR && self.asks.iter().all(|(told, _)| told != id)
    }

    /// Adds a signed message; `None` if it is about an update that was told. Otherwise the place of the message that had
    /// to go for it, if one had to: the oldest about the audit, which the next one makes up for, or the oldest.
    pub fn push(&mut self, message: String, now_ms: i64) -> Option<Option<usize>> {
        let document: Value = serde_json::from_str(message.split('\n').next()?).ok()?;
        let body = &document["body"];
        match document["kind"].as_str()? {
            "update" => {
                let update = body.to_string();
                if update == self.update {
                    return None;
                }
                self.update = update;
            }
            "ask" => self.asks.push((body["id"].as_str()?.to_owned(), now_ms)),
            _ => self.audit_ms = now_ms,
        }
        let gone = (self.messages.len() >= MOST).then(|| {
            let at = self.messages.iter().position(|message| message.contains(r#""kind":"audit""#)).unwrap_or(0);
            self.messages.remove(at);
            self.dropped += 1;
            at
        });
        self.messages.push(message);
        Some(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(kind: &str, body: &Value) -> String {
        format!("{}\nsignature", json!({ "kind": kind, "body": body }))
    }

    fn ask(id: usize) -> String {
        message("ask", &json!({ "id": id.to_string(), "tool": "system.reboot" }))
    }

    fn told(queue: &mut LogQueue, message: String) -> bool {
        queue.push(message, 0).is_some()
    }

    #[test]
    fn a_result_is_told_once_also_by_the_next_server() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("fleet-log.json");
        let mut queue = LogQueue::load(&file);
        let result = |phase: &str| message("update", &json!({ "version": "1.1", "phase": phase, "time_ms": 5 }));
        assert!(told(&mut queue, result("failed")) && !told(&mut queue, result("failed")));
        LogQueue::save(&file, &serde_json::to_vec(&queue).expect("JSON")).expect("a writable folder");
        let mut queue = LogQueue::load(&file);
        assert!(!told(&mut queue, result("failed")) && told(&mut queue, result("committed")));
        assert_eq!(queue.messages.len(), 2);
        fs::write(&file, "{").expect("a writable folder");
        assert!(told(&mut LogQueue::load(&file), result("committed")));
    }

    #[test]
    fn a_full_queue_drops_heads_of_the_audit_first_and_counts_what_it_drops() {
        let mut queue = LogQueue::default();
        assert!(told(&mut queue, ask(0)) && told(&mut queue, message("audit", &json!({ "seq": 7 }))));
        for id in 2..MOST {
            assert_eq!((queue.dropped(), queue.push(ask(id), 0)), (0, Some(None)), "{id}");
        }
        assert_eq!((queue.dropped(), queue.push(ask(98), 0)), (1, Some(Some(1))));
        assert_eq!((queue.dropped(), queue.push(ask(99), 0)), (2, Some(Some(0))));
        assert_eq!((queue.messages.len(), queue.dropped()), (MOST, 3));
        assert_eq!((&queue.messages[0], &queue.messages[MOST - 1]), (&ask(2), &ask(99)));
        queue.messages.clear();
        assert_eq!(queue.dropped(), 2);
    }

    #[test]
    fn an_ask_is_told_once_and_so_many_in_an_hour() {
        let mut queue = LogQueue::default();
        let hour = HOUR_MS as i64;
        assert!(queue.wants("0", &[], 1));
        assert!(told(&mut queue, ask(0)));
        assert!(!queue.wants("0", &[], hour - 1) && queue.wants("1", &[], hour - 1));
        // The clock was set, and it still waits for a person.
        assert!(!queue.wants("0", &["0".into()], 9 * hour));
        for id in 1..MOST_AN_HOUR {
            queue.push(ask(id), 9 * hour);
        }
        assert!(!queue.wants("one more", &["0".into()], 9 * hour));
        assert!(queue.wants("one more", &[], 10 * hour));
    }
}
