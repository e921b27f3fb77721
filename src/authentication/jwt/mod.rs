//! JSON Web Tokens issued by others (RFC 7519), accepted if a configured key signed them for this server.
//!
//! The validator is implemented here, on ring: the usual crate adds a second crypto library or depends on an
//! unmaintained branch, and an appliance needs little. There are three algorithms, each tied to a kind of key. A token
//! can only name one of them, so `none`, or an HMAC keyed with a public key, cannot be chosen. No claim is read before
//! the signature is verified.

mod keys;
mod known;

pub use keys::{Keys, Signer};

use base::base64url;
use base::reload_on_change::ReloadOnChange;
use contract::access::token::EARLIEST;
use contract::{config::Jwt, meta::Role};
use known::{Claims, VerifiedTokens};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use time::{Duration, OffsetDateTime};

/// Longest accepted token, in bytes. Real ones have 500 to 2000.
const LONGEST: usize = 8 * 1024;
/// Longest `sub`, in bytes: it becomes the caller's name in every audit record.
const LONGEST_SUBJECT: usize = 128;

/// Who a token stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bearer {
    /// `sub`.
    pub subject: String,
    pub role: Role,
    /// The token is refused from this time on: `exp` plus the allowed skew.
    pub until: OffsetDateTime,
}

/// Why a token is refused. The name is recorded in the audit; the sentence is sent to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JwtError {
    /// Not three parts of base64url with JSON in the first two, or too long.
    Malformed,
    /// An algorithm other than EdDSA, ES256 and RS256, or a header with an unsupported `crit`.
    Algorithm,
    /// No matching key, or more than one.
    Key,
    Signature,
    Issuer,
    Audience,
    Expired,
    NotYet,
    /// `exp` or `sub` is missing or malformed.
    Claims,
    /// The role claim contains none of our roles.
    Role,
    /// The clock of this machine was never set.
    Clock,
}

impl JwtError {
    /// A name for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Algorithm => "algorithm",
            Self::Key => "key",
            Self::Signature => "signature",
            Self::Issuer => "issuer",
            Self::Audience => "audience",
            Self::Expired => "expired",
            Self::NotYet => "not_yet_valid",
            Self::Claims => "claims",
            Self::Role => "role",
            Self::Clock => "clock",
        }
    }

    /// A sentence for the client.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Malformed => "the bearer token is neither one of this server's nor a JWT it can read",
            Self::Algorithm => "the JWT is not signed with EdDSA, ES256 or RS256, or demands an extension",
            Self::Key => "the JWT names no key of this server's key set, or several could be meant",
            Self::Signature => "the signature of the JWT is wrong",
            Self::Issuer => "the JWT is from another issuer",
            Self::Audience => "the JWT was made for another server",
            Self::Expired => "the JWT has expired",
            Self::NotYet => "the JWT is not valid yet",
            Self::Claims => "the JWT has no usable exp and sub",
            Self::Role => "the JWT gives no role of this server",
            Self::Clock => "this machine's clock is not set, so no token that ends can be judged",
        }
    }
}

/// Validates tokens according to the configuration's `[jwt]`.
pub struct Validator {
    issuer: String,
    audience: String,
    role_claim: String,
    skew: Duration,
    keys: ReloadOnChange<Keys>,
    known: VerifiedTokens,
}

impl Validator {
    /// Reads the key set.
    ///
    /// # Errors
    /// A sentence for the person who starts the server, if the file cannot be used.
    pub fn load(settings: &Jwt) -> Result<Self, String> {
        Ok(Self {
            issuer: settings.issuer.clone(),
            audience: settings.audience.clone(),
            role_claim: settings.role_claim.clone(),
            skew: Duration::seconds(settings.clock_skew_seconds.into()),
            keys: ReloadOnChange::new(vec![settings.keys_file.clone()], |files| Keys::read(&files[0]))?,
            known: VerifiedTokens::default(),
        })
    }

    /// The bearer of `token` at `now`.
    ///
    /// # Errors
    /// The first fault found.
    pub fn judge(&self, token: &str, now: OffsetDateTime) -> Result<Bearer, JwtError> {
        let claims = self.signed(token)?;
        self.claims(&claims, now)
    }

    /// The claims, after verifying the signature.
    fn signed(&self, token: &str) -> Result<Claims, JwtError> {
        if token.len() > LONGEST {
            return Err(JwtError::Malformed);
        }
        let (keys, hash) = (self.keys.get(), VerifiedTokens::hash(token));
        if let Some(claims) = self.known.find(&hash, &keys) {
            return Ok(claims);
        }
        let claims: Claims = Arc::new(check(token, &keys)?);
        self.known.keep(hash, keys, Arc::clone(&claims));
        Ok(claims)
    }

    fn claims(&self, claims: &Map<String, Value>, now: OffsetDateTime) -> Result<Bearer, JwtError> {
        if claims.get("iss").and_then(Value::as_str) != Some(&self.issuer) {
            return Err(JwtError::Issuer);
        }
        let ours = |value: &Value| value.as_str() == Some(&self.audience);
        let for_us = match claims.get("aud") {
            Some(Value::Array(several)) => several.iter().any(ours),
            one => one.is_some_and(ours),
        };
        if !for_us {
            return Err(JwtError::Audience);
        }
        if now < EARLIEST {
            return Err(JwtError::Clock);
        }
        let until =
            moment(claims.get("exp").ok_or(JwtError::Claims)?)?.checked_add(self.skew).ok_or(JwtError::Claims)?;
        if now >= until {
            return Err(JwtError::Expired);
        }
        if let Some(begin) = claims.get("nbf").map(moment).transpose()?
            && now < begin.checked_sub(self.skew).ok_or(JwtError::Claims)?
        {
            return Err(JwtError::NotYet);
        }
        let subject = claims.get("sub").and_then(Value::as_str).filter(|subject| is_subject(subject));
        let subject = subject.ok_or(JwtError::Claims)?.to_owned();
        let role = role(&self.role_claim, claims.get(&self.role_claim)).ok_or(JwtError::Role)?;
        Ok(Bearer { subject, role, until })
    }
}

/// The claims of the token, if one of `keys` signed it.
fn check(token: &str, keys: &Keys) -> Result<Map<String, Value>, JwtError> {
    let (signed, signature) = token.rsplit_once('.').ok_or(JwtError::Malformed)?;
    let (header, claims) = signed.split_once('.').ok_or(JwtError::Malformed)?;
    // `crit` must be understood or refused (RFC 7515, 4.1.11); this server supports none.
    let header: Header = json(header).filter(|_| !claims.contains('.')).ok_or(JwtError::Malformed)?;
    let known_type = header.typ.as_deref().is_none_or(|typ| {
        let typ = typ.to_ascii_lowercase();
        ["jwt", "at+jwt", "application/at+jwt"].contains(&typ.as_str())
    });
    if header.crit.is_some() || !known_type {
        return Err(JwtError::Algorithm);
    }
    let signer = Signer::of(&header.alg).ok_or(JwtError::Algorithm)?;
    let key = keys.find(signer, header.kid.as_deref()).ok_or(JwtError::Key)?;
    let signature = base64url::decode(signature).ok_or(JwtError::Malformed)?;
    if !key.verifies(signed.as_bytes(), &signature) {
        return Err(JwtError::Signature);
    }
    json(claims).ok_or(JwtError::Malformed)
}

/// The header's members needed for verification. Unknown members are ignored (RFC 7515, 4); a duplicate member is an
/// error.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<Value>,
}

fn json<T: for<'de> Deserialize<'de>>(part: &str) -> Option<T> {
    serde_json::from_slice(&base64url::decode(part)?).ok()
}

/// NumericDate: seconds since 1970, possibly with a fraction (RFC 7519, 2), which is truncated.
fn moment(value: &Value) -> Result<OffsetDateTime, JwtError> {
    let seconds = value.as_i64().or_else(|| value.as_f64().map(|seconds| seconds as i64)).ok_or(JwtError::Claims)?;
    OffsetDateTime::from_unix_timestamp(seconds).map_err(|_| JwtError::Claims)
}

/// Whether the text is printable, so that it can appear in a record and on a terminal.
fn is_subject(text: &str) -> bool {
    (1..=LONGEST_SUBJECT).contains(&text.len()) && !text.contains(char::is_control)
}

/// The highest of our roles among the values of a claim. Values are compared whole: "not admin" is one group and not a
/// role. An array has one value in each element (RFC 9068, 2.2.3.1). A string is one value, except for `scope`, whose
/// string is a list of values separated by single spaces (RFC 8693, 4.2).
fn role(name: &str, claim: Option<&Value>) -> Option<Role> {
    let whole = |value: &str| -> Option<Role> { serde_json::from_value(value.into()).ok() };
    match claim? {
        Value::String(text) if name == "scope" => text.split(' ').filter_map(whole).max(),
        Value::String(text) => whole(text),
        Value::Array(several) => several.iter().filter_map(Value::as_str).filter_map(whole).max(),
        _ => None,
    }
}
