//! HTTP sessions of the revisions that have them: limited in number, bound to their caller, and closed when idle.
//!
//! rmcp keeps the conversation; this wrapper keeps the last use of each session, because calls that the router answers
//! itself do not reset rmcp's own idle timer.

use super::super::{params::InitializeParams, session::Session};
use contract::access::{
    caller::Caller,
    shares::{PoolFull, Rule, is_admin},
};
use futures::{Stream, StreamExt};
use rmcp::{
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::{
        common::server_side_http::ServerSseMessage,
        streamable_http_server::session::{
            SessionId, SessionManager,
            local::{LocalSessionManager, LocalSessionManagerError},
        },
    },
};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// When all places are taken, a session unused for this long is closed for a new one.
pub const FORGOTTEN: Duration = Duration::from_secs(30);

/// All open sessions.
pub struct Sessions {
    inner: LocalSessionManager,
    open: Mutex<HashMap<String, Open>>,
    rule: Rule,
    idle: Duration,
    reaping: AtomicBool,
}

struct Open {
    /// The principal that opened it; others cannot use it.
    principal: Option<String>,
    /// The party whose share it counts towards.
    party: Option<String>,
    is_admin: bool,
    session: Session,
    seen: Instant,
    /// Open streams keep a session alive.
    streams: Arc<()>,
}

impl Sessions {
    pub fn new(limit: usize, idle: Duration) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = None;
        Self { inner, open: Mutex::default(), rule: Rule::half(limit), idle, reaping: AtomicBool::new(false) }
    }

    /// Makes room for one more session of this caller. If all places are taken, or the caller's share of them, closes
    /// the least recently used session (in the latter case one of its own), if it was unused for at least [`FORGOTTEN`]
    /// and has no open stream: many clients disconnect without closing their session, and a returning one can open
    /// another.
    ///
    /// # Errors
    /// [`PoolFull`]
    pub async fn make_room(&self, caller: &Caller) -> Result<(), PoolFull> {
        let is_admin = is_admin(caller);
        let (full, forgotten) = {
            let open = self.lock();
            let is_own = |open: &Open| open.party.as_deref() == Some(&*caller.party());
            let own = open.values().filter(|open| is_own(open)).count();
            let weak = open.values().filter(|open| !open.is_admin).count();
            let Err(full) = self.rule.admits(is_admin, own, weak, open.len()) else { return Ok(()) };
            let forgotten = open
                .iter()
                .filter(|(_, open)| Arc::strong_count(&open.streams) == 1 && open.seen.elapsed() >= FORGOTTEN)
                .filter(|(_, open)| match full {
                    PoolFull::Share(_) => is_own(open),
                    PoolFull::Whole(_) => is_admin || !open.is_admin,
                })
                .min_by_key(|(_, open)| open.seen)
                .map(|(id, _)| id.clone());
            (full, forgotten)
        };
        match forgotten {
            Some(id) => self.close_session(&id.into()).await.map_err(|_| full),
            None => Err(full),
        }
    }
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// Records who opened a session and the parameters of `initialize`.
    pub fn opened(&self, id: &str, caller: &Caller, params: Option<InitializeParams>) {
        if let Some(open) = self.lock().get_mut(id) {
            open.principal = Some(caller.principal.clone());
            open.party = Some(caller.party().into_owned());
            open.is_admin = is_admin(caller);
            if let Some(params) = params {
                open.session.learn(params);
            }
        }
    }

    /// Looks up a session and marks it as used; `None` if it belongs to another caller or has ended.
    pub fn visit(&self, id: &str, principal: &str) -> Option<Session> {
        let mut open = self.lock();
        let found = open.get_mut(id).filter(|open| open.principal.as_deref() == Some(principal))?;
        found.seen = Instant::now();
        Some(found.session.clone())
    }

    /// Closes every session of a credential that is no longer valid.
    pub async fn close_all_of(&self, principal: &str) {
        let own = |open: &Open| open.principal.as_deref() == Some(principal);
        let theirs: Vec<String> = self.lock().iter().filter(|(_, open)| own(open)).map(|(id, _)| id.clone()).collect();
        for id in theirs {
            let _ = self.close_session(&id.into()).await;
        }
    }

    /// Whether to start [`Sessions::reap`]: there are sessions and it is not running.
    pub fn wants_reaper(&self) -> bool {
        self.count() > 0 && !self.reaping.swap(true, Ordering::AcqRel)
    }

    /// Closes idle sessions. Runs while there are any, and sleeps until the next can expire.
    pub async fn reap(self: Arc<Self>) {
        loop {
            let (due, next) = {
                let open = self.lock();
                let idle = |open: &Open| Arc::strong_count(&open.streams) == 1;
                let left = |open: &Open| (open.seen + self.idle).saturating_duration_since(Instant::now());
                let due: Vec<String> =
                    open.iter().filter(|(_, o)| idle(o) && left(o).is_zero()).map(|(id, _)| id.clone()).collect();
                let next =
                    open.values().map(|o| if idle(o) { left(o) } else { self.idle }).filter(|d| !d.is_zero()).min();
                (due, next)
            };
            for id in due {
                tracing::debug!(session = id, "closed a session that was idle for {} s", self.idle.as_secs());
                let _ = self.close_session(&id.into()).await;
            }
            match next {
                Some(next) => tokio::time::sleep(next).await,
                None if self.lock().is_empty() => return self.reaping.store(false, Ordering::Release),
                None => {}
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the session alive while the stream is held.
    fn held<S: Stream<Item = ServerSseMessage>>(
        &self,
        id: &SessionId,
        stream: S,
    ) -> impl Stream<Item = ServerSseMessage> + use<S> {
        let guard = self.lock().get(id.as_ref()).map(|open| Arc::clone(&open.streams));
        stream.inspect(move |_| {
            let _held = &guard;
        })
    }
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let (id, transport) = self.inner.create_session().await?;
        let open = Open {
            principal: None,
            party: None,
            is_admin: false,
            session: Session::default(),
            seen: Instant::now(),
            streams: Arc::new(()),
        };
        self.lock().insert(id.to_string(), open);
        Ok((id, transport))
    }
    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.inner.initialize_session(id, message).await
    }
    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.inner.has_session(id).await
    }
    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.lock().remove(id.as_ref());
        self.inner.close_session(id).await
    }
    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.held(id, self.inner.create_stream(id, message).await?))
    }
    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.inner.accept_message(id, message).await
    }
    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.held(id, self.inner.create_standalone_stream(id).await?))
    }
    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.held(id, self.inner.resume(id, last_event_id).await?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::{access::caller::Transport, meta::Role};

    fn client(name: &str, role: Role) -> Caller {
        Caller::new(name, role, Transport::Http)
    }

    async fn opened(sessions: &Sessions) -> String {
        let (id, _transport) = sessions.create_session().await.unwrap();
        sessions.opened(&id, &client("a client", Role::ReadOnly), None);
        id.to_string()
    }

    fn age(sessions: &Sessions, id: &str, by: Duration) {
        let mut open = sessions.lock();
        let open = open.get_mut(id).unwrap();
        open.seen = open.seen.checked_sub(by).unwrap();
    }

    #[tokio::test]
    async fn the_longest_forgotten_session_makes_room_and_no_other() {
        let sessions = Sessions::new(2, Duration::from_secs(900));
        let (one, two) = (opened(&sessions).await, opened(&sessions).await);
        let caller = client("a client", Role::ReadOnly);
        assert_eq!(sessions.make_room(&caller).await, Err(PoolFull::Whole(2)), "both are in use");
        age(&sessions, &one, FORGOTTEN);
        age(&sessions, &two, FORGOTTEN * 2);
        let held = Arc::clone(&sessions.lock()[&two].streams);
        sessions.make_room(&caller).await.unwrap();
        assert!(sessions.visit(&one, "a client").is_none() && sessions.visit(&two, "a client").is_some());
        drop(held);
    }

    #[tokio::test]
    async fn one_client_leaves_sessions_for_others_and_all_of_them_some_for_admins() {
        let sessions = Sessions::new(8, Duration::from_secs(900));
        let open = async |caller: &Caller| {
            sessions.make_room(caller).await?;
            let (id, transport) = sessions.create_session().await.unwrap();
            sessions.opened(&id, caller, None);
            Ok::<_, PoolFull>((id, transport))
        };
        let (flood, other, root) =
            (client("a", Role::ReadOnly), client("b", Role::ReadOnly), client("token:root", Role::Admin));
        let mut kept = Vec::new();
        for _ in 0..4 {
            kept.push(open(&flood).await.unwrap());
        }
        assert_eq!(open(&flood).await.err(), Some(PoolFull::Share(4)));
        for _ in 0..3 {
            kept.push(open(&other).await.unwrap());
        }
        assert_eq!(open(&other).await.err(), Some(PoolFull::Whole(8)));
        kept.push(open(&root).await.unwrap());
        // Its own forgotten one makes room for it, and nobody else's.
        age(&sessions, &kept[4].0, FORGOTTEN * 2);
        assert_eq!(open(&flood).await.err(), Some(PoolFull::Share(4)));
        age(&sessions, &kept[1].0, FORGOTTEN);
        kept.push(open(&flood).await.unwrap());
        assert!(sessions.visit(&kept[1].0, "a").is_none() && sessions.visit(&kept[4].0, "b").is_some());
        // For an admin anybody's does.
        age(&sessions, &kept[5].0, FORGOTTEN);
        kept.push(open(&root).await.unwrap());
        assert!(sessions.visit(&kept[5].0, "b").is_none());
    }
}
