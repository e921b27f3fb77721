//! What a backup has in it.

use super::{MAX_PLAIN, SavedFiles};
use crate::{connections::SavedConnections, revoked::Revoked};
use base::error::{ErrorCode, ToolError};
use contract::halt::HaltState;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, fmt};

/// `purpose` of a backup.
pub const PURPOSE: &str = "raspi-mcp backup 1";

/// A backup. Most of it is secret, so its debug form says whose it is only. A field of a newer version is refused: what this
/// version does not know would be lost without a word.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backup {
    pub purpose: String,
    /// When it was made, by the device's clock, in milliseconds since 1970 UTC.
    pub made_ms: i64,
    /// The program that made it.
    pub version: String,
    /// The product of its images.
    pub product: String,
    /// The device's ID: 64 hexadecimal digits.
    pub device: String,
    /// How often the identity was restored before ([`crate::generation`]).
    #[serde(default)]
    pub generation: u64,
    /// Fields of [`crate::Identity`]: name, Wi-Fi and source of releases; with the identity also certificate, key, tokens and
    /// fleet.
    pub identity: Map<String, Value>,
    /// The key by which approvers and the fleet know the device: PKCS #8, base64url. Only with the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_key: Option<String>,
    /// Roots of trust accepted beyond the image's, oldest first. Only with the identity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<String>,
    /// What only rises, of `update::slots::StateRecord`.
    #[serde(default)]
    pub counter_floor: u64,
    #[serde(default)]
    pub revoke_below: u64,
    #[serde(default)]
    pub committed_time: u64,
    #[serde(default)]
    pub halt: HaltState,
    /// What was revoked before it was made: older backups of the machine are not to bring it back either.
    #[serde(default, skip_serializing_if = "Revoked::is_empty")]
    pub revoked: Revoked,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// NetworkManager's connections, by file name.
    #[serde(default)]
    pub connections: BTreeMap<String, String>,
    /// Files of the owner and of the agent.
    #[serde(default)]
    pub files: SavedFiles,
}

impl Backup {
    /// Reads the JSON of a backup, and checks what does not depend on the machine.
    ///
    /// # Errors
    /// `invalid_argument` for JSON of another form, `content_too_large`.
    pub fn parse(json: &[u8]) -> Result<Self, ToolError> {
        if json.len() > MAX_PLAIN {
            return Err(unusable(format!("it has more than {MAX_PLAIN} bytes")));
        }
        let backup: Self = serde_json::from_slice(json).map_err(|error| unusable(error.to_string()))?;
        backup.check().map_err(unusable)?;
        Ok(backup)
    }

    /// # Errors
    /// What is wrong.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.purpose != PURPOSE {
            return Err(format!("it is for {:?}, not {PURPOSE:?}", self.purpose));
        }
        self.files.check()?;
        SavedConnections::of_files(self.connections.clone()).map(drop)
    }

    /// Its JSON.
    ///
    /// # Errors
    /// `content_too_large` beyond [`MAX_PLAIN`] bytes.
    pub fn json(&self) -> Result<Vec<u8>, ToolError> {
        let json = serde_json::to_vec(self)
            .map_err(|error| ToolError::internal(format!("the backup cannot be written: {error}")))?;
        if json.len() > MAX_PLAIN {
            return Err(super::sealed::too_long(json.len()));
        }
        Ok(json)
    }

    /// Whether the machine that it is restored on becomes the same device for its clients.
    pub fn has_identity(&self) -> bool {
        self.device_key.is_some() || self.identity.contains_key("key")
    }
}

/// The refusal of a backup that this version does not understand.
pub(super) fn unusable(why: String) -> ToolError {
    ToolError::new(ErrorCode::InvalidArgument, format!("the backup cannot be used: {why}"))
        .hint("a newer version of raspi-mcp may have made it: flash an image that is as new")
}

impl fmt::Debug for Backup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Backup");
        shown.field("device", &self.device).field("generation", &self.generation).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_is_not_known_and_another_purpose_are_refused() {
        let backup = Backup { purpose: PURPOSE.into(), generation: 3, ..Backup::default() };
        let json = backup.json().unwrap();
        assert_eq!(Backup::parse(&json).unwrap(), backup);
        let text = String::from_utf8(json).unwrap();
        for (bad, why) in [
            (text.replacen('{', "{\"newer\":1,", 1), "newer"),
            (text.replace("backup 1", "backup 2"), "backup 2"),
            (text.replace("\"generation\":3", "\"generation\":-3"), "-3"),
            ("[]".into(), "expected"),
        ] {
            let error = Backup::parse(bad.as_bytes()).unwrap_err();
            assert!(error.code == ErrorCode::InvalidArgument && error.message.contains(why), "{why}: {error}");
        }
    }

    #[test]
    fn nothing_secret_is_in_its_debug_form() {
        let identity = Map::from_iter([("key".to_owned(), Value::from("hunter2"))]);
        let backup = Backup { identity, device_key: Some("hunter2".into()), ..Backup::default() };
        assert!(backup.has_identity() && !format!("{backup:?}").contains("hunter2"));
        assert!(!Backup::default().has_identity());
    }
}
