//! Bearer tokens: made here, shown once, kept as SHA-256, compared in constant time.

use crate::{
    config::{Sha256, TokenSetting},
    error::ToolError,
    registry::meta::Role,
};
use ring::{
    digest,
    rand::{SecureRandom, SystemRandom},
};
use std::fmt;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// What every token starts with, so that redaction and secret scanners recognise one.
pub const PREFIX: &str = "rmcp_";
/// A presented token longer than this is not one of ours and is not even hashed.
const LONGEST: usize = 256;

/// A new secret. Its debug form does not show it.
pub struct Token(String);

impl Token {
    /// 256 random bits from the operating system.
    ///
    /// # Errors
    /// `internal` when the system has no randomness to give.
    pub fn mint() -> Result<Self, ToolError> {
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).map_err(|_| {
            ToolError::internal("the system gave no random bytes, so no token was made")
                .hint("check that /dev/urandom exists and the kernel has getrandom(2)")
        })?;
        Ok(Self(format!("{PREFIX}{}", base64url(&bytes))))
    }

    /// The secret itself, to be shown once.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What the configuration keeps of it.
    pub fn sha256(&self) -> Sha256 {
        hash(&self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The setting that `presented` belongs to, unless it has expired by `now`.
///
/// Every entry is compared, and each in the same time, so that how long it takes says nothing about any of them.
pub fn find<'a>(tokens: &'a [TokenSetting], presented: &str, now: OffsetDateTime) -> Option<&'a TokenSetting> {
    if presented.len() > LONGEST {
        return None;
    }
    let presented = hash(presented);
    let mut found = None;
    for token in tokens {
        if same(&token.sha256.0, &presented.0) {
            found = Some(token);
        }
    }
    found.filter(|token| token.expires.is_none_or(|expires| now < expires))
}

/// `raspi-mcp token new`: makes a token and says, once, what it is and which lines make the server accept it.
///
/// # Errors
/// `invalid_argument` for a name the configuration would refuse; `internal` without randomness.
pub fn run_new(name: &str, role: Role, expires: Option<OffsetDateTime>) -> Result<String, ToolError> {
    if !crate::config::is_name(name, 64) {
        return Err(ToolError::invalid("a token's name is 1 to 64 characters from a-z, 0-9, \"_\" and \"-\"")
            .with("name", "--name")
            .hint("name it after who or what will use it, such as \"laptop\""));
    }
    let token = Token::mint()?;
    let expires = match expires.map(|moment| moment.format(&Rfc3339)).transpose() {
        Ok(moment) => moment.map(|moment| format!("expires = {moment}\n")).unwrap_or_default(),
        Err(error) => return Err(ToolError::invalid(format!("--expires cannot be written as RFC 3339: {error}"))),
    };
    Ok(format!(
        "This is the token. It is shown only now; give it to whoever will use it, and to nobody else:\n\n    {}\n\n\
         These lines make the server accept it. Put them into a file such as /etc/raspi-mcp/20-{name}.toml and restart \
         raspi-mcp:\n\n[[access.tokens]]\nname = \"{name}\"\nsha256 = \"{}\"\nrole = \"{}\"\n{expires}",
        token.reveal(),
        token.sha256().hex(),
        role.name(),
    ))
}

/// No salt and no stretching: a token has 256 random bits, there is nothing to guess.
fn hash(token: &str) -> Sha256 {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
    Sha256(bytes)
}

/// Equal, found out without stopping at the first difference.
fn same(left: &[u8; 32], right: &[u8; 32]) -> bool {
    // The black box keeps the compiler from turning the loop back into an early exit.
    left.iter().zip(right).fold(0, |difference, (left, right)| std::hint::black_box(difference | (left ^ right))) == 0
}

/// Base64 for URLs without padding (RFC 4648, section 5).
fn base64url(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        // n bytes make n + 1 letters of six bits each, the highest first.
        for letter in 0..=group.len() {
            text.push(char::from(ALPHABET[(bits >> (18 - 6 * letter)) as usize & 63]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let pairs = [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE")];
        for (plain, coded) in pairs {
            assert_eq!(base64url(plain.as_bytes()), coded);
        }
        assert_eq!(base64url(&[0xfb, 0xff, 0xfe]), "-__-");
    }

    #[test]
    fn sameness_looks_at_every_byte() {
        let zero = [0; 32];
        assert!(same(&zero, &zero));
        for index in 0..32 {
            let mut other = zero;
            other[index] = 1;
            assert!(!same(&zero, &other), "byte {index}");
        }
    }
}
