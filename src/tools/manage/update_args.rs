//! Channel names, versions and hashes in arguments.

use contract::config::sections::update::is_version;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error};
use update::bundle::Digest;

pub const LONGEST_CHANNEL: usize = 64;
pub const CHANNEL: &str = "^[a-z0-9_-]+$";
pub const LONGEST_VERSION: usize = 64;
/// Roughly a semantic version; the channel decides what it refers to.
pub const VERSION: &str = r"^[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}([-+][0-9A-Za-z.+-]*)?$";
pub const LONGEST_PLAN: usize = 96;
pub const PLAN: &str = "^[0-9A-Za-z.+-]+$";
pub const HASH: &str = "^[0-9a-f]{64}$";

/// As the configuration accepts it.
fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
    (1..=LONGEST_CHANNEL).contains(&text.len()) && text.bytes().all(plain)
}

/// The channels of `manage.update_server` (docs/contract/manage.md); `update.channel` may name any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum UpdateChannel {
    Stable,
    Beta,
}

impl UpdateChannel {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Beta => "beta",
        }
    }
}

/// A channel's name, optional.
///
/// # Errors
/// The required form.
pub fn channel<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    match &name {
        Some(text) if !is_name(text) => Err(D::Error::custom("a channel's name is 1 to 64 of a-z, 0-9, _ and -")),
        _ => Ok(name),
    }
}

/// A version, optional.
///
/// # Errors
/// The required form.
pub fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let version = Option::<String>::deserialize(deserializer)?;
    match &version {
        Some(text) if !is_version(text) => Err(D::Error::custom("a version looks like 1.4.2 or 2.0.0-beta.1")),
        _ => Ok(version),
    }
}

/// A plan's name.
///
/// # Errors
/// The required form.
pub fn plan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let id = String::deserialize(deserializer)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".+-".contains(&byte);
    if (1..=LONGEST_PLAN).contains(&id.len()) && id.bytes().all(plain) {
        return Ok(id);
    }
    Err(D::Error::custom("a plan's id is 1 to 96 of A-Z, a-z, 0-9, ., + and -"))
}

/// A SHA-256.
///
/// # Errors
/// The required form.
pub fn hash<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
    Digest::deserialize(deserializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_and_parsers_agree() {
        let version = regex_lite::Regex::new(VERSION).unwrap();
        for text in [
            "1.2.3",
            "0.0.0-rc.1",
            "1.2.3+5",
            "1.2",
            "1.2.3.4",
            "a.b.c",
            "1.2.3 ",
            "1.2.3-",
            "1234567890.1.1",
            "1.2.3-ä",
        ] {
            assert_eq!(version.is_match(text), is_version(text), "{text}");
        }
        let channel = regex_lite::Regex::new(CHANNEL).unwrap();
        for text in ["stable", "beta-2", "_x", "-x", "", "Stable", "a b", "ä"] {
            assert_eq!(channel.is_match(text), is_name(text), "{text}");
        }
    }
}
