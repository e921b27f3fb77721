//! The status of a device, as its agent signs it.

use crate::{expected::FromDevice, signed};
use base::{error::ToolError, signing::SigningKey};
use serde::{Deserialize, Serialize};

/// What a status is signed for.
pub const PURPOSE: &str = "raspi-mcp status 1";
/// Longest message, in bytes, with its signature.
pub const MAX_MESSAGE: usize = 1024;
/// Problems in a status, and the bytes of each, at most.
pub const MAX_PROBLEMS: usize = 3;
pub const MAX_PROBLEM: usize = 80;
/// Bytes of the reason of an attempt, at most.
pub const MAX_REASON: usize = 120;

/// A status. What the device does not have is `None`: slots, for instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub purpose: String,
    pub fleet: String,
    /// The device's name in the fleet.
    pub name: String,
    /// The device id: 64 hexadecimal digits.
    pub device: String,
    /// Rises with every message of the device, over restarts and clocks set back.
    pub sequence: u64,
    /// How often the device's identity was restored from a backup; 0 from older versions.
    #[serde(default)]
    pub generation: u64,
    /// The device's clock, in milliseconds since 1970 UTC.
    pub time_ms: i64,
    /// Another one after each start of the agent.
    pub boot: String,
    /// Of the running system; of the program where there are no slots.
    pub version: String,
    /// SHA-256 of the manifest of the running release, if it was installed as an update.
    pub manifest: Option<String>,
    pub counter: Option<u64>,
    /// `a` or `b`.
    pub slot: Option<String>,
    /// The state of the running slot, such as `good` or `trial`.
    pub state: Option<String>,
    pub attempt: Option<StatusAttempt>,
    pub halted: bool,
    /// The sequence of the last halt order of the fleet's owner that was followed; 0 without one. `None` from versions up to 0.2.
    #[serde(default)]
    pub halt_order: Option<u64>,
    /// `None` while nobody has looked.
    pub healthy: Option<bool>,
    /// At most [`MAX_PROBLEMS`] of [`MAX_PROBLEM`] bytes.
    pub problems: Vec<String>,
    /// Asks that wait for a person.
    pub asks: usize,
    /// Version of the program.
    pub server: String,
    pub ring: Option<String>,
    pub tags: Vec<String>,
    pub simulated: bool,
}

/// The last update that was tried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusAttempt {
    pub version: String,
    /// SHA-256 of its manifest.
    pub manifest: String,
    /// How far it came, such as `committed` or `rolled_back`.
    pub phase: String,
    /// Why it ended; at most [`MAX_REASON`] bytes.
    pub reason: String,
    /// When it ended, or began if it goes on, in milliseconds since 1970 UTC.
    pub time_ms: i64,
}

impl FromDevice for Status {
    const PURPOSE: &'static str = PURPOSE;
    const LIMIT: usize = MAX_MESSAGE;

    fn sender(&self) -> (&str, &str, &str, &str, u64) {
        (&self.purpose, &self.fleet, &self.name, &self.device, self.sequence)
    }
}

impl Status {
    /// Signs it. Texts are cut to their limits; what then makes the message too long is left out: problems, the attempt's
    /// reason, tags.
    ///
    /// # Errors
    /// `internal` when the rest is still too long.
    pub fn sign(mut self, key: &SigningKey) -> Result<String, ToolError> {
        self.purpose = PURPOSE.into();
        self.problems.truncate(MAX_PROBLEMS);
        self.problems.iter_mut().for_each(|problem| cut(problem, MAX_PROBLEM));
        if let Some(attempt) = &mut self.attempt {
            cut(&mut attempt.reason, MAX_REASON);
        }
        loop {
            let document = serde_json::to_string(&self)
                .map_err(|error| ToolError::internal(format!("a status cannot be written: {error}")))?;
            let message = signed::sign(PURPOSE, &document, key);
            if message.len() <= MAX_MESSAGE {
                return Ok(message);
            }
            let reason = self.attempt.as_mut().map(|attempt| &mut attempt.reason).filter(|reason| !reason.is_empty());
            if self.problems.len() > 1 {
                self.problems.pop();
            } else if let Some(reason) = reason {
                reason.clear();
            } else if self.tags.pop().is_none() && self.problems.pop().is_none() {
                return Err(ToolError::internal("a status is too long"));
            }
        }
    }
}

/// Cuts `text` to at most `most` bytes, between two characters.
pub fn cut(text: &mut String, most: usize) {
    text.truncate(text.floor_char_boundary(most));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expected::Expected;

    fn key() -> SigningKey {
        SigningKey::from_pkcs8(&SigningKey::generate().expect("random bytes")).expect("its own key")
    }

    fn status(id: &str) -> Status {
        Status {
            fleet: "home".into(),
            name: "kitchen".into(),
            device: id.into(),
            sequence: 7,
            version: "1.2.3".into(),
            ..Status::default()
        }
    }

    #[test]
    fn only_a_newer_one_of_this_device_counts() {
        let (key, other) = (key(), key());
        let (public, id) = (key.public(), key.public().id());
        let message = status(&id).sign(&key).expect("short");
        let expected = Expected { fleet: "home", name: "kitchen", key: &public, device: &id, after: 6 };
        assert_eq!(expected.read::<Status>(message.as_bytes()).expect("counts").sequence, 7);
        let refused = |expected: Expected<'_>, message: &str| {
            expected.read::<Status>(message.as_bytes()).expect_err("does not count").message.clone()
        };
        assert!(refused(Expected { fleet: "away", ..expected }, &message).contains("another fleet"));
        assert!(refused(Expected { name: "shed", ..expected }, &message).contains("another device than its subject"));
        assert!(refused(Expected { device: "0", ..expected }, &message).contains("another device id"));
        assert!(refused(Expected { after: 7, ..expected }, &message).contains("not newer"));
        assert!(refused(Expected { key: &other.public(), ..expected }, &message).contains("signature"));
        assert!(refused(expected, &message.replace("1.2.3", "1.2.4")).contains("signature"));
    }

    #[test]
    fn the_longest_fits() {
        let key = key();
        let long = |n: usize| "\u{e4}\"".repeat(n);
        let whole = Status {
            fleet: "f".repeat(63),
            name: "d".repeat(63),
            manifest: Some("0".repeat(64)),
            sequence: u64::MAX,
            generation: u64::MAX,
            halt_order: Some(u64::MAX),
            problems: vec![long(60); 5],
            attempt: Some(StatusAttempt { manifest: "0".repeat(64), reason: long(200), ..StatusAttempt::default() }),
            tags: vec!["t".repeat(63); 8],
            ..status(&key.public().id())
        };
        let message = whole.sign(&key).expect("it is made to fit");
        assert!(message.len() <= MAX_MESSAGE);
        let kept: Status = signed::read(PURPOSE, message.as_bytes(), MAX_MESSAGE, &key.public()).expect("whole");
        assert_eq!((kept.problems.len(), kept.manifest.is_some()), (1, true));
    }
}
