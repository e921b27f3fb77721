//! Bearer tokens: made here, shown once, kept as SHA-256, compared in constant time.

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
        Ok(Self(format!("{PREFIX}{}", base64url::encode(&bytes))))
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

/// A clock before this was never set (a Pi has no battery for one): what ends at some time cannot be judged by it.
pub const EARLIEST: OffsetDateTime = datetime!(2026-01-01 00:00 UTC);

/// Why a token is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No token of this server.
    Unknown,
    Expired,
    /// It expires, and this machine does not know the time.
    Clock,
}

/// The setting that `presented` belongs to.
///
/// Every entry is compared, and each in the same time, so that how long it takes says nothing about any of them.
///
/// # Errors
/// When there is none, or it has expired by `now`.
pub fn judge<'a>(tokens: &'a [TokenSetting], presented: &str, now: OffsetDateTime) -> Result<&'a TokenSetting, Fault> {
    if presented.len() > LONGEST {
        return Err(Fault::Unknown);
    }
    let presented = hash(presented);
    let mut found = None;
    for token in tokens {
        if same(&token.sha256.0, &presented.0) {
            found = Some(token);
        }
    }
    let token = found.ok_or(Fault::Unknown)?;
    match token.expires {
        Some(_) if now < EARLIEST => Err(Fault::Clock),
        Some(expires) if now >= expires => Err(Fault::Expired),
        _ => Ok(token),
    }
}

/// Whether a token may have this name and this owner.
///
/// # Errors
/// `invalid_argument`: the configuration would refuse it.
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

/// The lines that make a server accept a token.
///
/// # Errors
/// `invalid_argument` for an expiry that cannot be written.
pub fn lines(token: &TokenSetting) -> Result<String, ToolError> {
    let TokenSetting { name, sha256, role, owner, expires } = token;
    let expires = match expires.map(|moment| moment.format(&Rfc3339)).transpose() {
        Ok(moment) => moment.map(|moment| format!("expires = {moment}\n")).unwrap_or_default(),
        Err(error) => return Err(ToolError::invalid(format!("--expires cannot be written as RFC 3339: {error}"))),
    };
    let owner = owner.as_ref().map(|owner| format!("owner = \"{owner}\"\n")).unwrap_or_default();
    let (hash, role) = (sha256.hex(), role.name());
    Ok(format!("[[access.tokens]]\nname = \"{name}\"\nsha256 = \"{hash}\"\nrole = \"{role}\"\n{owner}{expires}"))
}

/// `raspi-mcp token new`: makes a token and says, once, what it is and which lines make the server accept it.
///
/// # Errors
/// `invalid_argument` for a name the configuration would refuse; `internal` without randomness.
pub fn run_new(
    name: &str,
    role: Role,
    owner: Option<&str>,
    expires: Option<OffsetDateTime>,
) -> Result<String, ToolError> {
    check_names(name, owner)?;
    let token = Token::mint()?;
    let setting =
        TokenSetting { name: name.into(), sha256: token.sha256(), role, owner: owner.map(str::to_owned), expires };
    Ok(format!(
        "This is the token. It is shown only now; give it to whoever will use it, and to nobody else:\n\n    {}\n\n\
         These lines make the server accept it. Put them into a file such as /etc/raspi-mcp/20-{name}.toml:\n\n{}",
        token.reveal(),
        lines(&setting)?,
    ))
}

/// No salt and no stretching: a token has 256 random bits, there is nothing to guess.
pub fn hash(token: &str) -> Sha256 {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
    Sha256(bytes)
}

/// Equal, found out without stopping at the first difference.
pub fn same<const LENGTH: usize>(left: &[u8; LENGTH], right: &[u8; LENGTH]) -> bool {
    // The black box keeps the compiler from turning the loop back into an early exit.
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
