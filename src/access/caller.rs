//! Who is calling, and through which door.

use super::presence::Presence;
use crate::registry::meta::Role;
use serde::Serialize;

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

/// An identified caller. Rate limits, leases, cancellation and audit go by `principal`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// `stdio`, `loopback`, `uid:1000`, `token:NAME`.
    pub principal: String,
    pub role: Role,
    pub door: Door,
    /// The connection it is on; HTTP has none that lasts.
    pub presence: Option<Presence>,
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
        Self { principal: principal.into(), role, door, presence: None }
    }
}
