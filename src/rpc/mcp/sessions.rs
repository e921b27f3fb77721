//! HTTP sessions of the revisions that have them: capped, bound to who opened them, gone when nobody comes back.
//!
//! rmcp keeps the conversation; this wrapper keeps the books, since calls that the front door answers itself never reach
//! rmcp's own idle clock.

use super::super::{params::InitializeParams, session::Session};
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

/// Every open session.
pub struct Sessions {
    inner: LocalSessionManager,
    open: Mutex<HashMap<String, Open>>,
    limit: usize,
    idle: Duration,
    reaping: AtomicBool,
}

struct Open {
    /// Whoever did not open it does not find it.
    principal: Option<String>,
    session: Session,
    seen: Instant,
    /// Streams that the client holds open keep a session alive.
    streams: Arc<()>,
}

impl Sessions {
    pub fn new(limit: usize, idle: Duration) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = None;
        Self { inner, open: Mutex::default(), limit, idle, reaping: AtomicBool::new(false) }
    }

    /// Whether another one may be opened.
    pub fn has_room(&self) -> bool {
        self.lock().len() < self.limit
    }
    pub fn limit(&self) -> usize {
        self.limit
    }
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// Notes who opened a session and what `initialize` said.
    pub fn opened(&self, id: &str, principal: &str, params: Option<InitializeParams>) {
        if let Some(open) = self.lock().get_mut(id) {
            open.principal = Some(principal.to_owned());
            if let Some(params) = params {
                open.session.learn(params);
            }
        }
    }

    /// What is known of a session, which counts as a sign of life; `None` when it is not this caller's or has ended.
    pub fn visit(&self, id: &str, principal: &str) -> Option<Session> {
        let mut open = self.lock();
        let found = open.get_mut(id).filter(|open| open.principal.as_deref() == Some(principal))?;
        found.seen = Instant::now();
        Some(found.session.clone())
    }

    /// Whether the caller is to start [`Sessions::reap`]: there are sessions, and nobody watches them yet.
    pub fn wants_reaper(&self) -> bool {
        self.count() > 0 && !self.reaping.swap(true, Ordering::AcqRel)
    }

    /// Closes sessions that nobody came back to. Runs while there are any, and sleeps until the next can be due.
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

    /// Keeps the session alive as long as the stream is held.
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
        let open = Open { principal: None, session: Session::default(), seen: Instant::now(), streams: Arc::new(()) };
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
