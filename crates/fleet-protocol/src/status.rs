//! A device's status: what its agent signs and the owner's console believes.

use serde::{Deserialize, Serialize};

/// The purpose that is signed with it.
pub const STATUS_PURPOSE: &str = "raspi-mcp status 1";
/// Bytes of the whole message, at most.
pub const MAX_STATUS: usize = 1024;
/// Problems in one status, at most, and bytes of each.
pub const MAX_PROBLEMS: usize = 3;
pub const PROBLEM_BYTES: usize = 80;
/// Bytes of the reason why an update ended, at most.
pub const REASON_BYTES: usize = 120;

/// The document. A newer device may send more fields; they are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusDocument {
    /// [`STATUS_PURPOSE`].
    pub purpose: String,
    pub fleet: String,
    pub name: String,
    /// The device's id: SHA-256 of its agent's key, 64 hexadecimal digits.
    pub device: String,
    /// Rises with every status of this device, over restarts too.
    pub sequence: u64,
    /// Milliseconds since 1970, by the device's clock.
    pub time_ms: i64,
    /// Another one after each start of the agent.
    pub boot: String,
    /// The version of the running release or, on a machine without slots, of the program.
    pub version: String,
    /// SHA-256 of the running release's manifest; absent when no release is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter: Option<u64>,
    /// The running slot, `A` or `B`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// The state of that slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<StatusAttempt>,
    pub halted: bool,
    /// Absent while the device does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub healthy: Option<bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// Requests for a person's approval that are open.
    #[serde(default)]
    pub asks: u64,
    /// The version of the program.
    pub server: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
}

/// The last update, or the one that is under way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusAttempt {
    pub version: String,
    /// SHA-256 of the release's manifest.
    pub manifest: String,
    /// As in `manage.get_update_status`: `committed`, `rolled_back`, `failed`, or a step on the way.
    pub phase: String,
    /// Why it ended; shortened to [`REASON_BYTES`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// When it ended or, before that, began. Milliseconds since 1970, by the device's clock.
    pub time_ms: i64,
}

impl StatusDocument {
    /// Shortens texts until the signed message has [`MAX_STATUS`] bytes at most: first the reason and the problems to their
    /// limits, then whole problems, the reason, and the tags.
    pub fn to_text(mut self) -> String {
        self.problems.truncate(MAX_PROBLEMS);
        self.problems.iter_mut().for_each(|problem| shorten(problem, PROBLEM_BYTES));
        if let Some(attempt) = &mut self.attempt {
            shorten(&mut attempt.reason, REASON_BYTES);
        }
        loop {
            // Names, numbers and texts: this cannot fail.
            let text = serde_json::to_string(&self).unwrap_or_default();
            if text.len() + crate::signed::SIGNATURE_BYTES <= MAX_STATUS || !self.shed() {
                return text;
            }
        }
    }

    /// Drops the least important part that is left; `false` when none is.
    fn shed(&mut self) -> bool {
        if self.problems.len() > 1 {
            return self.problems.pop().is_some();
        }
        match &mut self.attempt {
            Some(attempt) if !attempt.reason.is_empty() => attempt.reason.clear(),
            _ if !self.tags.is_empty() => self.tags.clear(),
            _ => return self.problems.pop().is_some(),
        }
        true
    }
}

fn shorten(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most.saturating_sub(3)));
        text.push_str("...");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::signing::SigningKey;

    #[test]
    fn the_longest_status_fits_and_keeps_what_counts() {
        let long = |bytes| "\"ö".repeat(bytes);
        let status = StatusDocument {
            purpose: STATUS_PURPOSE.into(),
            fleet: "f".repeat(63),
            name: "n".repeat(63),
            device: "0".repeat(64),
            boot: "0".repeat(36),
            version: "1.2.3".into(),
            manifest: Some("1".repeat(64)),
            attempt: Some(StatusAttempt {
                manifest: "2".repeat(64),
                phase: "rolled_back".into(),
                reason: long(900),
                ..StatusAttempt::default()
            }),
            problems: vec![long(500); 9],
            tags: vec!["t".repeat(20); 8],
            ..StatusDocument::default()
        };
        let key = SigningKey::from_pkcs8(&SigningKey::generate().expect("random bytes")).expect("its own key");
        let message = crate::signed::sign(STATUS_PURPOSE, &status.clone().to_text(), &key);
        assert!(message.len() <= MAX_STATUS, "{}", message.len());
        let read: StatusDocument =
            crate::signed::read(STATUS_PURPOSE, message.as_bytes(), MAX_STATUS, &key.public()).expect("valid");
        assert_eq!(read.manifest, status.manifest);
        assert_eq!(read.attempt.expect("the attempt").phase, "rolled_back");
        assert!(read.problems.len() <= 1);
    }
}
