//! The caller of a tool, and the transport it uses.

use super::presence::Presence;
use crate::meta::Role;
use serde::Serialize;
use std::borrow::Cow;

/// The transport by which a message arrived. The audit uses these names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    Stdio,
    Http,
    Ws,
    Unix,
    Dbus,
}

impl Transport {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Ws => "ws",
            Self::Unix => "unix",
            Self::Dbus => "dbus",
        }
    }
}

/// An identified caller. Cancellation, sessions, tasks, approvals and the audit go by `principal`; leases and shares go
/// by its owner, if it has one ([`Caller::party`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// `stdio`, `loopback`, `uid:1000`, `token:NAME`.
    pub principal: String,
    /// The owner of the credential, from the configuration (`access.owners`, `owner` of a token).
    pub owner: Option<String>,
    pub role: Role,
    pub transport: Transport,
    /// The caller's connection; `None` for HTTP, which has no lasting one.
    pub presence: Option<Presence>,
    /// Gone once the token that the caller presented is no longer valid; calls still in progress then get no leases.
    pub pass: Option<Presence>,
}

/// The principal of all programs on this machine without a credential.
pub const ANONYMOUS: &str = "loopback";

impl Caller {
    /// A program on this machine that presented no token.
    pub fn anonymous(role: Role) -> Self {
        Self::new(ANONYMOUS, role, Transport::Http)
    }

    /// Whether it shares its principal with all other anonymous callers.
    pub fn is_anonymous(&self) -> bool {
        self.principal == ANONYMOUS
    }

    pub fn new(principal: impl Into<String>, role: Role, transport: Transport) -> Self {
        Self { principal: principal.into(), owner: None, role, transport, presence: None, pass: None }
    }

    /// The same caller as a credential of `owner`.
    pub fn of_owner(self, owner: Option<&str>) -> Self {
        Self { owner: owner.map(str::to_owned), ..self }
    }

    /// The unit for leases and shares: the owner, so that all credentials of one owner count as one, otherwise the
    /// principal. No principal begins with `owner:`.
    pub fn party(&self) -> Cow<'_, str> {
        match &self.owner {
            Some(owner) => format!("owner:{owner}").into(),
            None => self.principal.as_str().into(),
        }
    }
}
