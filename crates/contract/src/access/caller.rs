//! Who is calling, and through which door.

use super::presence::Presence;
use crate::meta::Role;
use serde::Serialize;
use std::borrow::Cow;

/// The way a message came in. In the audit by this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Door {
    Stdio,
    Http,
    Ws,
    Unix,
}

impl Door {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Ws => "ws",
            Self::Unix => "unix",
        }
    }
}

/// An identified caller. Cancellation, sessions, tasks, approvals and the audit go by `principal`; leases and everything that is
/// shared out go by the owner behind it, if it has one ([`Caller::party`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// `stdio`, `loopback`, `uid:1000`, `token:NAME`.
    pub principal: String,
    /// Whose credential it is, by the configuration (`access.owners`, `owner` of a token).
    pub owner: Option<String>,
    pub role: Role,
    pub door: Door,
    /// The connection it is on; HTTP has none that lasts.
    pub presence: Option<Presence>,
    /// Gone when the token it showed stops counting: whatever is still on its way then gets nothing that lasts.
    pub pass: Option<Presence>,
}

/// The principal of everybody on this machine who shows nothing.
const ANONYMOUS: &str = "loopback";

impl Caller {
    /// A program on this machine that showed no token.
    pub fn anonymous(role: Role) -> Self {
        Self::new(ANONYMOUS, role, Door::Http)
    }

    /// Whether it is one of many that nothing tells apart.
    pub fn is_anonymous(&self) -> bool {
        self.principal == ANONYMOUS
    }

    pub fn new(principal: impl Into<String>, role: Role, door: Door) -> Self {
        Self { principal: principal.into(), owner: None, role, door, presence: None, pass: None }
    }

    /// The same caller as a credential of `owner`.
    pub fn of_owner(self, owner: Option<&str>) -> Self {
        Self { owner: owner.map(str::to_owned), ..self }
    }

    /// Who counts as one when something is shared out: all credentials of one owner, else the principal. No principal begins with
    /// `owner:`.
    pub fn party(&self) -> Cow<'_, str> {
        match &self.owner {
            Some(owner) => format!("owner:{owner}").into(),
            None => self.principal.as_str().into(),
        }
    }
}
