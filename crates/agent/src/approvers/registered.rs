//! An enrolled approver, and the rules for a new one.

use super::{ApproverKey, KeyKind, approver_key, passkey::host};
use base::error::ToolError;
use contract::audit::rfc3339;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Approvers of one device, at most.
pub const MAX_APPROVERS: usize = 16;
/// Characters of an approver's name, at most.
const MAX_NAME: usize = 64;
/// Bytes of an origin, at most.
const MAX_ORIGIN: usize = 256;

/// Who is to be enrolled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewApprover {
    /// Shown in the audit: 1 to 64 letters, digits, `.`, `_`, `@` and `-`.
    pub name: String,
    pub kind: KeyKind,
    /// Base64url of the key's SubjectPublicKeyInfo.
    pub key: String,
    /// The origin at which the key is used, exactly, such as `https://approve.example.org:8444`. Needed for `passkey`
    /// and `browser`, and only for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// An enrolled approver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approver {
    pub name: String,
    pub kind: KeyKind,
    pub key: ApproverKey,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Milliseconds since 1970 UTC.
    pub added_ms: i64,
    /// Who enrolled it, as reported by the kernel.
    pub added_by: String,
    /// The last counter of its authenticator; 0 where it does not count.
    #[serde(default, skip_serializing_if = "base::serde_fields::is_zero")]
    pub counter: u32,
    /// Fields of another release.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Approver {
    /// For programs.
    pub(crate) fn shown(&self) -> Value {
        json!({
            "name": self.name, "kind": self.kind, "key": self.key.id(), "origin": self.origin,
            "added": rfc3339(self.added_ms), "added_by": self.added_by,
        })
    }

    /// What its enrolment means, for people.
    pub fn added(&self) -> String {
        format!("{} may answer approval requests; key {}", self.name, self.key.id())
    }
}

impl NewApprover {
    /// Checks every field.
    ///
    /// # Errors
    /// `invalid_argument` naming the field.
    pub fn checked(self, added_ms: i64, added_by: &str) -> Result<Approver, ToolError> {
        let Self { name, kind, key, origin } = self;
        let plain = |c: char| c.is_ascii_alphanumeric() || "._@-".contains(c);
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
            return Err(ToolError::invalid(format!(
                "an approver's name has 1 to {MAX_NAME} letters, digits, '.', '_', '@' and '-'"
            )));
        }
        let key = approver_key(&key, kind)?;
        match (&origin, kind) {
            (None, KeyKind::Cli) => {}
            (Some(_), KeyKind::Cli) => return Err(ToolError::invalid("a key of kind cli has no origin")),
            (Some(origin), _) => check_origin(origin)?,
            (None, _) => {
                return Err(ToolError::invalid(format!(
                    "a key of kind {} needs the origin it is used at",
                    kind.name()
                ))
                .hint("give it as the browser's address line has it: --origin https://HOST:PORT"));
            }
        }
        Ok(Approver { name, kind, key, origin, added_ms, added_by: added_by.to_owned(), counter: 0, more: Map::new() })
    }
}

/// Checks an approver in JSON: name, kind, key and, where it is needed, origin.
///
/// # Errors
/// `invalid_argument` naming the field.
pub fn check(approver: &serde_json::Value) -> Result<(), ToolError> {
    let new = NewApprover::deserialize(approver)
        .map_err(|error| ToolError::invalid(format!("this is no approver: {error}")))?;
    new.checked(0, "").map(drop)
}

/// An origin as browsers write it (RFC 6454, section 6.2): scheme and host in lower case, no default port, no path.
fn check_origin(origin: &str) -> Result<(), ToolError> {
    let wrong = |why: &str| {
        ToolError::invalid(format!("{why}: an origin is https://HOST or https://HOST:PORT, as browsers write it"))
    };
    let rest = origin
        .strip_prefix("https://")
        .or_else(|| origin.strip_prefix("http://localhost").map(|_| &origin["http://".len()..]))
        .ok_or_else(|| wrong("without https, a browser gives out no key"))?;
    let port = rest.strip_prefix(host(origin)).unwrap_or_default();
    let digits = port.strip_prefix(':').unwrap_or("1");
    if origin.len() > MAX_ORIGIN
        || rest.is_empty()
        || host(origin).is_empty()
        || !rest.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b".-:[]".contains(&b))
        || digits.parse::<u16>().is_err()
        || digits.starts_with('0')
        || origin.starts_with("https://") && digits == "443" && !port.is_empty()
    {
        return Err(wrong("this is no origin"));
    }
    Ok(())
}
