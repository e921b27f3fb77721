//! Sessions of the page: what a cookie stands for. They are in memory only, and end with the server.

use axum::http::{HeaderMap, header};
use base::error::ToolError;
use contract::{
    access::{
        caller::Caller,
        shares::{Rule, is_admin},
        token::{self, Token},
    },
    config::Sha256,
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use time::OffsetDateTime;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The cookie. Its prefix makes browsers demand `Secure`, `Path=/` and no `Domain` (RFC 6265bis, 4.1.3.2), so that no
/// other host can set it.
pub const COOKIE: &str = "__Host-raspi-mcp";
/// The longest life of a session.
pub const LIFE: Duration = Duration::from_secs(12 * 3600);
/// Most sessions of one party ([`Caller::party`]). One more ends its oldest, so that a lost browser locks nobody out.
pub const OWN: usize = 8;
/// Most sessions in all, some 300 bytes each.
pub const IN_ALL: usize = 64;
/// An eighth of them is for admins. When all are taken, an admin's login ends the oldest of somebody who is none.
const RULE: Rule = Rule { share: OWN, ..Rule::half(IN_ALL) };

/// All sessions, oldest first. No task watches over them: those that have expired are dropped when one is opened or
/// looked for.
#[derive(Default)]
pub struct Sessions(Mutex<Vec<Session>>);

/// One session.
#[derive(Clone)]
pub struct Session {
    /// SHA-256 of the cookie's value, which is kept nowhere.
    hash: Sha256,
    /// Who acts in it: principal `page:NAME`, the role of the credential.
    pub caller: Arc<Caller>,
    /// The principal of the credential that opened it.
    pub credential: String,
    /// [`LIFE`] after it was opened, by a clock that nobody can set.
    until: Instant,
    /// When the credential expires.
    expires: Option<OffsetDateTime>,
    /// Cancelled when it ends, other than by time.
    pub ended: CancellationToken,
}

impl Session {
    /// How long it lasts, if nothing ends it.
    pub fn left(&self, now: Instant, wall: OffsetDateTime) -> Duration {
        let of_credential = self.expires.map(|expires| Duration::try_from(expires - wall).unwrap_or_default());
        self.until.saturating_duration_since(now).min(of_credential.unwrap_or(LIFE))
    }

    /// Whether its credential counts no more, or its time is over.
    fn is_over(&self, now: Instant, wall: OffsetDateTime) -> bool {
        self.ended.is_cancelled()
            || self.left(now, wall).is_zero()
            || self.caller.pass.as_ref().is_some_and(|pass| pass.is_gone())
    }
}

/// The value of the session's cookie in a request.
pub fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|line| line.split(';')).find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == COOKIE).then_some(value)
    })
}

/// `Set-Cookie` for a session. With an empty value, the one that removes it.
pub fn set_cookie(value: &str, life: Duration) -> String {
    format!("{COOKIE}={value}; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age={}", life.as_secs())
}

impl Sessions {
    /// Opens a session for `caller` ([`Caller::at_the_page`]); `credential` is the principal it signed in with, which expires at
    /// `expires`. Returns it with the value of its cookie.
    ///
    /// # Errors
    /// `resource_exhausted` when all are taken but the reserve and the caller is no admin; `internal` without random bytes.
    pub fn open(
        &self,
        caller: Arc<Caller>,
        credential: &str,
        expires: Option<OffsetDateTime>,
        now: Instant,
        wall: OffsetDateTime,
    ) -> Result<(Session, Token), ToolError> {
        let mut held = self.lock();
        held.retain(|session| !session.is_over(now, wall));
        let (party, admin) = (caller.party(), is_admin(&caller));
        // A party's admins do not end the sessions of its others, nor these theirs.
        let own = |session: &Session| session.caller.party() == party && is_admin(&session.caller) == admin;
        if held.iter().filter(|session| own(session)).count() >= OWN {
            end_first(&mut held, own);
        }
        let weak = |session: &Session| !is_admin(&session.caller);
        if let Err(full) = RULE.admits(admin, 0, held.iter().filter(|session| weak(session)).count(), held.len()) {
            if !admin {
                return Err(full.error("sessions of the page"));
            }
            if !end_first(&mut held, weak) {
                end_first(&mut held, |_| true);
            }
        }
        drop(party);
        let value = Token::mint()?;
        let session = Session {
            hash: value.sha256(),
            caller,
            credential: credential.to_owned(),
            until: now + LIFE,
            expires,
            ended: CancellationToken::new(),
        };
        held.push(session.clone());
        Ok((session, value))
    }

    /// The session of this cookie.
    pub fn find(&self, value: &str, now: Instant, wall: OffsetDateTime) -> Option<Session> {
        let mut held = self.lock();
        // Unused, this costs one look at an empty list.
        if held.is_empty() {
            return None;
        }
        held.retain(|session| !session.is_over(now, wall));
        let hash = token::hash(value);
        held.iter().find(|session| token::same(&session.hash.0, &hash.0)).cloned()
    }

    /// Ends one session.
    pub fn end(&self, session: &Session) {
        session.ended.cancel();
        self.lock().retain(|held| !held.ended.is_cancelled());
    }

    /// Ends all sessions that these credentials opened. Returns the principals of these sessions.
    pub fn end_all_of(&self, credentials: &[String]) -> Vec<String> {
        let mut gone = Vec::new();
        self.lock().retain(|session| {
            let ends = credentials.contains(&session.credential);
            if ends {
                session.ended.cancel();
                gone.push(session.caller.principal.clone());
            }
            !ends
        });
        gone
    }

    /// How many there are, those that have expired since included.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the oldest of these. Returns whether there was one.
fn end_first(held: &mut Vec<Session>, of: impl Fn(&Session) -> bool) -> bool {
    let first = held.iter().position(of);
    first.inspect(|first| held.remove(*first).ended.cancel()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::{access::caller::Transport, meta::Role};
    use time::macros::datetime;

    const WALL: OffsetDateTime = datetime!(2026-11-25 12:00 UTC);

    fn caller(name: &str, role: Role) -> Arc<Caller> {
        Arc::new(Caller::new(format!("token:{name}"), role, Transport::Http).at_the_page())
    }

    #[test]
    fn a_session_ends_after_twelve_hours_or_with_its_credential() {
        let (sessions, now, who) = (Sessions::default(), Instant::now(), caller("a", Role::OpsRw));
        let hour = Duration::from_secs(3600);
        let (_, long) = sessions.open(Arc::clone(&who), "token:a", None, now, WALL).unwrap();
        let (_, short) = sessions.open(who, "token:a", Some(WALL + hour), now, WALL).unwrap();
        let lives = |value: &Token, after: Duration| sessions.find(value.reveal(), now + after, WALL + after).is_some();
        assert!(lives(&long, hour / 2) && lives(&short, hour / 2));
        assert!(!lives(&short, hour) && lives(&long, hour));
        assert!(lives(&long, LIFE - Duration::from_millis(1)));
        // A wall clock that was set back does not lengthen it.
        assert!(sessions.find(long.reveal(), now + LIFE, WALL - hour).is_none());
        assert_eq!(sessions.count(), 0, "nothing of them is kept");
    }

    #[test]
    fn their_number_is_bounded_and_one_s_own_oldest_goes_first() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let open = |name: &str, role| {
            let opened = sessions.open(caller(name, role), &format!("token:{name}"), None, now, WALL);
            opened.map(|(_, value)| value)
        };
        let lives = |value: &Token| sessions.find(value.reveal(), now, WALL).is_some();
        let own: Vec<Token> = (0..=OWN).map(|_| open("a", Role::ReadOnly).unwrap()).collect();
        assert_eq!(sessions.count(), OWN);
        assert!(!lives(&own[0]) && own[1..].iter().all(lives));
        for n in 0..IN_ALL - RULE.reserve - OWN {
            open(&format!("b{n}"), Role::ReadOnly).unwrap();
        }
        assert_eq!(open("c", Role::OpsRw).unwrap_err().details["limit"], IN_ALL);
        // One's own oldest goes first even then.
        let again = open("a", Role::ReadOnly).unwrap();
        assert!(!lives(&own[1]) && lives(&own[2]) && lives(&again));
        // The reserve is the admins', and ends nobody's session.
        let admins: Vec<Token> = (0..RULE.reserve).map(|n| open(&format!("root{n}"), Role::Admin).unwrap()).collect();
        assert_eq!(sessions.count(), IN_ALL);
        assert!(own[2..].iter().chain(&admins).all(lives));
        // Beyond it an admin's login ends the oldest of somebody who is none.
        let more = open("root", Role::Admin).unwrap();
        assert_eq!(sessions.count(), IN_ALL);
        assert!(!lives(&own[2]) && lives(&own[3]) && lives(&more) && admins.iter().all(lives));
    }

    #[test]
    fn many_tokens_of_one_owner_are_one_party_and_its_admin_is_not_signed_out_by_them() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let open = |name: &str, role| {
            let credential = Caller::new(format!("token:{name}"), role, Transport::Http).of_owner(Some("ann"));
            sessions.open(Arc::new(credential.at_the_page()), &credential.principal, None, now, WALL).unwrap().1
        };
        let admin = open("boss", Role::Admin);
        for n in 0..3 * OWN {
            open(&format!("t{n}"), Role::OpsRw);
        }
        assert_eq!(sessions.count(), OWN + 1);
        assert!(sessions.find(admin.reveal(), now, WALL).is_some());
    }

    #[test]
    fn principals_of_the_page_are_nobody_else_s() {
        let of = |principal: &str| Caller::new(principal, Role::ReadOnly, Transport::Http).at_the_page().principal;
        assert_eq!(of("token:porch"), "page:porch");
        assert_eq!(of("jwt:porch"), "page:jwt:porch");
        assert_eq!((of("loopback").as_str(), of("token:loopback").as_str()), ("page:@loopback", "page:loopback"));
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        assert_eq!(cookie(&headers), None);
        for (line, found) in [
            ("__Host-raspi-mcp=x", Some("x")),
            ("a=b; __Host-raspi-mcp=x; c=d", Some("x")),
            ("raspi-mcp=x; __host-raspi-mcp=y", None),
            ("__Host-raspi-mcp", None),
        ] {
            headers.insert(header::COOKIE, line.parse().unwrap());
            assert_eq!(cookie(&headers), found, "{line}");
        }
    }
}
