//! Authenticates a request: by bearer token, by JWT, or as an anonymous peer of the loopback interface.

use crate::authentication::{
    jwt::{self, Validator},
    tokens::{Tokens, principal},
};
use axum::http::{HeaderMap, header};
use base::error::{ErrorCode, ToolError};
use contract::{
    access::{
        caller::{Caller, Transport},
        token,
    },
    config::{Owners, Settings, TokenSetting, is_loopback, is_loopback_host},
    meta::Role,
};
use time::OffsetDateTime;

/// Authenticates requests according to the configuration.
pub struct Authenticator {
    owners: Owners,
    jwt: Option<Validator>,
    /// The role of callers without a token, or why they have none. Decided by the listener and its names and not by the
    /// peer's address, since a proxy on this machine connects from loopback on behalf of anybody.
    anonymous: Result<Role, AuthenticationError>,
}

/// An authenticated caller.
#[derive(Debug)]
pub struct AuthenticatedCaller {
    pub caller: Caller,
    /// When the credential expires; the connection is closed then.
    pub until: Option<OffsetDateTime>,
}

/// Why a caller is not authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthenticationError {
    /// No Authorization header where one is required.
    Missing,
    /// None in a request that did not begin on this machine: a proxy or a tunnel sent it on, or it was addressed by another
    /// name than loopback's.
    Forwarded,
    /// None, and the configuration gives the server a name beyond this machine.
    Named,
    /// Several Authorization headers, or not of the form `Bearer TOKEN`.
    Scheme,
    Token(token::TokenError),
    Jwt(jwt::JwtError),
}

impl AuthenticationError {
    /// A name for the audit.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Forwarded => "forwarded",
            Self::Named => "named",
            Self::Scheme => "scheme",
            Self::Token(token::TokenError::Unknown) => "unknown",
            Self::Token(token::TokenError::Expired) => "expired",
            Self::Token(token::TokenError::Clock) => "clock",
            Self::Jwt(fault) => fault.name(),
        }
    }

    /// A sentence, also used as the `error_description` of the challenge, so plain ASCII without quotes.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Missing => "this server asks every caller for a token",
            Self::Forwarded => {
                "this request came through a proxy or a tunnel, or to another name than that of loopback: it needs a token"
            }
            Self::Named => {
                "http.allowed_hosts gives this server a name beyond this machine, so it asks every caller for a token"
            }
            Self::Scheme | Self::Token(token::TokenError::Unknown) => {
                "the Authorization header holds no token of this server"
            }
            Self::Token(token::TokenError::Expired) => "the token has expired",
            Self::Token(token::TokenError::Clock) => jwt::JwtError::Clock.sentence(),
            Self::Jwt(fault) => fault.sentence(),
        }
    }

    /// Whether nothing was presented.
    pub const fn is_missing(self) -> bool {
        matches!(self, Self::Missing | Self::Forwarded | Self::Named)
    }

    pub fn error(self) -> ToolError {
        let hint = match self {
            Self::Jwt(jwt::JwtError::Role) => {
                "have the issuer put read_only, ops_rw or admin into the claim jwt.role_claim"
            }
            Self::Jwt(jwt::JwtError::Clock) | Self::Token(token::TokenError::Clock) => {
                "let the machine reach a time server, or use a token that does not expire"
            }
            Self::Jwt(_) => "get a new token from the issuer, for this server's jwt.audience",
            _ => "send `Authorization: Bearer rmcp_…` with a token from `raspi-mcp token make`",
        };
        let code = match self {
            Self::Jwt(jwt::JwtError::Role) => ErrorCode::PermissionDenied,
            _ => ErrorCode::Unauthenticated,
        };
        ToolError::new(code, self.sentence()).with("reason", self.reason()).hint(hint)
    }
}

impl Authenticator {
    /// # Errors
    /// A sentence for the person who starts the server, if `[jwt]` is on and its keys cannot be used.
    pub fn of(settings: &Settings) -> Result<Self, String> {
        let access = &settings.access;
        let is_named = settings.http.allowed_hosts.iter().any(|host| !is_loopback_host(host));
        let anonymous = match is_loopback(settings.http.listen.ip()) && !access.require_token {
            false => Err(AuthenticationError::Missing),
            true if is_named => Err(AuthenticationError::Named),
            true => Ok(access.loopback_role),
        };
        Ok(Self {
            owners: access.owners.clone(),
            jwt: settings.jwt.is_on().then(|| Validator::load(&settings.jwt)).transpose()?,
            anonymous,
        })
    }

    /// Authenticates a request. `tokens` are the valid ones; `owner`: those of the owner who claimed the machine since
    /// the start.
    ///
    /// # Errors
    /// Why the caller is not authenticated. An invalid token is an error even where none is required: treating the
    /// caller as anonymous would hide the mistake.
    pub fn identify(
        &self,
        headers: &HeaderMap,
        tokens: &Tokens,
        owner: &[TokenSetting],
    ) -> Result<AuthenticatedCaller, AuthenticationError> {
        let mut shown = headers.get_all(header::AUTHORIZATION).iter();
        let Some(value) = shown.next() else {
            let role = self.anonymous?;
            return Ok(AuthenticatedCaller { caller: Caller::anonymous(role), until: None });
        };
        let presented = value.to_str().ok().and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let presented = presented.filter(|_| shown.next().is_none()).ok_or(AuthenticationError::Scheme)?;
        let now = OffsetDateTime::now_utc();
        let judged = match tokens.judge(presented, now) {
            Err(token::TokenError::Unknown) => token::judge(owner, presented, now).map(|token| (token.clone(), None)),
            judged => judged,
        };
        match (judged, &self.jwt) {
            (Ok((token, pass)), _) => {
                let caller =
                    Caller::new(principal(&token), token.role, Transport::Http).of_owner(token.owner.as_deref());
                Ok(AuthenticatedCaller { caller: Caller { pass, ..caller }, until: token.expires })
            }
            (Err(token::TokenError::Unknown), Some(jwt)) if !presented.starts_with(token::PREFIX) => {
                let bearer = jwt.judge(presented, now).map_err(AuthenticationError::Jwt)?;
                let principal = format!("jwt:{}", bearer.subject);
                let owner = self.owners.of(&principal).map(str::to_owned);
                let caller = Caller::new(principal, bearer.role, Transport::Http).of_owner(owner.as_deref());
                Ok(AuthenticatedCaller { caller, until: Some(bearer.until) })
            }
            (Err(fault), _) => Err(AuthenticationError::Token(fault)),
        }
    }
}
