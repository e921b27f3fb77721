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
/// What principals of the page begin with ([`Caller::at_the_page`]).
pub const PAGE: &str = "page:";
/// What principals of tokens begin with.
const TOKEN: &str = "token:";

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

    /// The same credential in a session of the page: a principal of its own, `page:NAME` for `token:NAME`, and nothing
    /// else that the credential does not have.
    pub fn at_the_page(&self) -> Self {
        let principal = match self.principal.strip_prefix(TOKEN) {
            Some(name) => format!("{PAGE}{name}"),
            // No token's name has an @ or a colon.
            None if self.is_anonymous() => format!("{PAGE}@{}", self.principal),
            None => format!("{PAGE}{}", self.principal),
        };
        Self { principal, ..self.clone() }
    }

    /// The unit for limits and shares: the owner, so that all credentials of one owner count as one, otherwise the
    /// principal's ([`party_of`]). No principal begins with `owner:`.
    pub fn party(&self) -> Cow<'_, str> {
        match &self.owner {
            Some(owner) => format!("owner:{owner}").into(),
            None => party_of(&self.principal),
        }
    }
}

/// The party of a principal without an owner: itself, and for one of the page that of its credential. Whoever signs in with
/// a token gets no second share by it.
pub fn party_of(principal: &str) -> Cow<'_, str> {
    let Some(name) = principal.strip_prefix(PAGE) else { return principal.into() };
    match name.strip_prefix('@') {
        Some(anonymous) => anonymous.into(),
        None if name.contains(':') => name.into(),
        None => format!("{TOKEN}{name}").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_of_the_page_is_the_party_of_its_credential() {
        for principal in ["token:porch", "jwt:porch", "jwt:a:b@example.org", "loopback", "token:loopback", "uid:0"] {
            let credential = Caller::new(principal, Role::OpsRw, Transport::Http);
            let page = credential.at_the_page();
            assert!(page.principal.starts_with(PAGE), "{}", page.principal);
            assert_eq!((page.party(), credential.party()), (principal.into(), principal.into()));
            let owned = page.of_owner(Some("ann"));
            assert_eq!(owned.party(), "owner:ann");
        }
    }
}
