//! Bearer tokens: generated here, shown once, stored as SHA-256, compared in constant time.

use crate::{
    config::{Sha256, TokenSetting},
    meta::Role,
};
use base::base64url;
use base::error::ToolError;
use ring::{
    digest,
    rand::{SecureRandom, SystemRandom},
};
use std::fmt;
use time::{OffsetDateTime, format_description::well_known::Rfc3339, macros::datetime};

/// The prefix of every token, by which redaction and secret scanners recognise one.
pub const PREFIX: &str = "rmcp_";
/// Maximum bytes of a presented token; a longer one is rejected without hashing.
const LONGEST: usize = 256;

/// A new secret. Its debug form does not show it.
pub struct Token(String);

impl Token {
    /// 256 random bits from the operating system.
    ///
    /// # Errors
    /// `internal` when the system provides no random bytes.
    pub fn mint() -> Result<Self, ToolError> {
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).map_err(|_| {
            ToolError::internal("the system gave no random bytes, so no token was made")
                .hint("check that /dev/urandom exists and the kernel has getrandom(2)")
        })?;
        Ok(Self(format!("{PREFIX}{}", base64url::encode(&bytes))))
    }

    /// The secret, to be shown once.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The hash, which the configuration stores.
    pub fn sha256(&self) -> Sha256 {
        hash(&self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// A clock before this time was never set (a Pi has no battery-backed clock), so expiry cannot be judged by it.
pub const EARLIEST: OffsetDateTime = datetime!(2026-01-01 00:00 UTC);

/// Why a token is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// Not a token of this server.
    Unknown,
    Expired,
    /// It has an expiry, and this machine's clock is not set.
    Clock,
}

/// The setting of the token `presented`.
///
/// Every entry is compared in constant time, so that the duration reveals nothing about any of them.
///
/// # Errors
/// When there is none, it has expired by `now`, or its expiry cannot be judged because the clock is not set.
pub fn judge<'a>(
    tokens: &'a [TokenSetting],
    presented: &str,
    now: OffsetDateTime,
) -> Result<&'a TokenSetting, TokenError> {
    if presented.len() > LONGEST {
        return Err(TokenError::Unknown);
    }
    let presented = hash(presented);
    let mut found = None;
    for token in tokens {
        if same(&token.sha256.0, &presented.0) {
            found = Some(token);
        }
    }
    let token = found.ok_or(TokenError::Unknown)?;
    match token.expires {
        Some(_) if now < EARLIEST => Err(TokenError::Clock),
        Some(expires) if now >= expires => Err(TokenError::Expired),
        _ => Ok(token),
    }
}

/// Checks a token's name and owner.
///
/// # Errors
/// `invalid_argument` for names that the configuration would refuse.
pub fn check_names(name: &str, owner: Option<&str>) -> Result<(), ToolError> {
    for (what, option, text) in [("name", "--name", Some(name)), ("owner", "--owner", owner)] {
        if text.is_some_and(|text| !crate::config::is_name(text, 64)) {
            let message = format!("a token's {what} is 1 to 64 characters from a-z, 0-9, \"_\" and \"-\"");
            return Err(ToolError::invalid(message)
                .with("name", option)
                .hint("name it after who or what will use it, such as \"laptop\""));
        }
    }
    Ok(())
}

/// The configuration lines that make a server accept a token.
///
/// # Errors
/// `invalid_argument` for an expiry that cannot be formatted.
pub fn lines(token: &TokenSetting) -> Result<String, ToolError> {
    let TokenSetting { name, sha256, role, owner, expires, devices } = token;
    let expires = match expires.map(|moment| moment.format(&Rfc3339)).transpose() {
        Ok(moment) => moment.map(|moment| format!("expires = {moment}\n")).unwrap_or_default(),
        Err(error) => return Err(ToolError::invalid(format!("--expires cannot be written as RFC 3339: {error}"))),
    };
    let owner = owner.as_ref().map(|owner| format!("owner = \"{owner}\"\n")).unwrap_or_default();
    let quoted: Vec<String> = devices.iter().map(|device| format!("\"{device}\"")).collect();
    let devices = if quoted.is_empty() { String::new() } else { format!("devices = [{}]\n", quoted.join(", ")) };
    let (hash, role) = (sha256.hex(), role.name());
    Ok(format!(
        "[[access.tokens]]\nname = \"{name}\"\nsha256 = \"{hash}\"\nrole = \"{role}\"\n{owner}{expires}{devices}"
    ))
}

/// The tokens in a fragment of the configuration; none in one that cannot be read.
pub fn in_fragment(text: &str) -> Vec<TokenSetting> {
    let table: Option<toml::Table> = text.parse().ok();
    let tokens = table.as_ref().and_then(|table| table.get("access")?.get("tokens")?.as_array());
    let read = |token: &toml::Value| {
        // The parser of the configuration reads times as TOML has them, serde as texts.
        let mut token = token.clone();
        if let Some(expires) = token.get_mut("expires") {
            *expires = toml::Value::String(expires.to_string().trim_matches('"').to_owned());
        }
        token.try_into().ok()
    };
    tokens.map_or(&[][..], Vec::as_slice).iter().filter_map(read).collect()
}

/// `raspi-mcp token new`: generates a token and returns it, this one time, with the lines that make the server accept
/// it. `devices`: names of the routers that it is good for; none: all.
///
/// # Errors
/// `invalid_argument` for a name that the configuration would refuse; `internal` without random numbers.
pub fn run_new(
    name: &str,
    role: Role,
    owner: Option<&str>,
    expires: Option<OffsetDateTime>,
    devices: Vec<String>,
) -> Result<String, ToolError> {
    check_names(name, owner)?;
    let token = Token::mint()?;
    let setting = TokenSetting {
        name: name.into(),
        sha256: token.sha256(),
        role,
        owner: owner.map(str::to_owned),
        expires,
        devices,
    };
    Ok(format!(
        "This is the token. It is shown only now; give it to whoever will use it, and to nobody else:\n\n    {}\n\n\
         These lines make the server accept it. Put them into a file such as /etc/raspi-mcp/20-{name}.toml:\n\n{}",
        token.reveal(),
        lines(&setting)?,
    ))
}

/// Without salt or key stretching: a token has 256 random bits and cannot be guessed.
pub fn hash(token: &str) -> Sha256 {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
    Sha256(bytes)
}

/// Compares all bytes, without stopping at the first difference.
pub fn same<const LENGTH: usize>(left: &[u8; LENGTH], right: &[u8; LENGTH]) -> bool {
    // `black_box` keeps the compiler from turning the loop into an early exit.
    left.iter().zip(right).fold(0, |difference, (left, right)| std::hint::black_box(difference | (left ^ right))) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

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
