//! One entry of `[[access.tokens]]`: a bearer token by its hash, so that no file contains the secret.

use crate::meta::Role;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::json;
use std::fmt;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// An accepted token: its caller, role and expiry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenSetting {
    /// Unique; part of the principal in the audit.
    pub name: String,
    pub sha256: Sha256,
    pub role: Role,
    /// The owner: all credentials of one owner count as one for leases of pins and for shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The time from which on it is refused. `None`: it does not expire.
    #[serde(default, with = "moment")]
    pub expires: Option<OffsetDateTime>,
    /// The routers that it is good for; empty: all (docs/contract/routeros.md).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
}

impl TokenSetting {
    /// Name, role, owner and expiry; not the hash.
    pub fn summary(&self) -> serde_json::Value {
        let expires = self.expires.and_then(|moment| moment.format(&Rfc3339).ok());
        let mut summary = json!({ "name": self.name, "role": self.role, "expires": expires });
        if let Some(owner) = &self.owner {
            summary["owner"] = json!(owner);
        }
        if !self.devices.is_empty() {
            summary["devices"] = json!(self.devices);
        }
        summary
    }
}

/// SHA-256 of a token, written as 64 hexadecimal digits. Its debug form does not show it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Sha256(pub [u8; 32]);

impl Sha256 {
    /// `None` unless `text` is 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 32];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// 64 lower-case hexadecimal digits.
    pub fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sha256(…)")
    }
}

impl Serialize for Sha256 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.hex())
    }
}

impl<'de> Deserialize<'de> for Sha256 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_hex(&text).ok_or_else(|| D::Error::custom("expected 64 hexadecimal digits"))
    }
}

/// Serde for an optional time in RFC 3339.
mod moment {
    use super::*;

    pub fn serialize<S: Serializer>(moment: &Option<OffsetDateTime>, serializer: S) -> Result<S::Ok, S::Error> {
        let text = moment.map(|moment| moment.format(&Rfc3339)).transpose();
        text.map_err(serde::ser::Error::custom)?.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<OffsetDateTime>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| OffsetDateTime::parse(&text, &Rfc3339)).transpose().map_err(D::Error::custom)
    }
}
