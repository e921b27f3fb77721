//! One conversation with the server: sends messages and receives the answers.

use super::{
    events::{Events, LONGEST, TooLong},
    message::{ClientMessage, answers, negotiated},
    standing::LatestRequests,
};
use crate::{
    client::{MAY_HAVE_BEEN_DONE, Remote},
    rpc::mcp::http::SESSION_ID,
};
use base::error::ToolError;
use reqwest::{RequestBuilder, Response, StatusCode, header};
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{Notify, mpsc};

/// Delay before reopening the stream of the server's own messages: initial and maximum.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Messages for the client.
pub type ClientSender = mpsc::Sender<Vec<u8>>;

pub struct ServerLink {
    remote: Remote,
    out: ClientSender,
    state: Mutex<State>,
    /// Serializes reopening of a session.
    opening: tokio::sync::Mutex<()>,
    /// Notified after a session was reopened, so that listening starts again.
    reopened: Notify,
}

#[derive(Default)]
struct State {
    session: Option<String>,
    /// Negotiated by `initialize`.
    version: Option<String>,
    /// The client's own `initialize`, sent again to a server that has lost the session.
    opened_by: Option<Vec<u8>>,
    standing: LatestRequests,
}

impl ServerLink {
    pub fn new(remote: Remote, out: ClientSender) -> Self {
        Self { remote, out, state: Mutex::default(), opening: tokio::sync::Mutex::default(), reopened: Notify::new() }
    }

    /// Sends one message; responses are passed to the client. A request is always answered.
    pub async fn send(&self, message: ClientMessage, body: Vec<u8>) {
        if let Err(error) = self.exchange(&message, body).await {
            match &message.id {
                Some(id) => self.fail(id.get(), &error).await,
                // Notifications get no answer; clients show or log the stderr of their servers.
                None => crate::terminal::err(format_args!("raspi-mcp bridge: {}\n", error.advice())),
            }
        }
    }

    /// Whether there is a session, in which the server may send messages of its own.
    pub fn has_session(&self) -> bool {
        self.session().is_some()
    }

    fn session(&self) -> Option<String> {
        self.state().session.clone()
    }

    async fn exchange(&self, message: &ClientMessage, body: Vec<u8>) -> Result<(), ToolError> {
        let session = self.session();
        let mut response = self.post(message, body.clone()).await?;
        let forgotten = response.status() == StatusCode::NOT_FOUND && session.is_some() && message.headers.is_empty();
        if forgotten && !message.is("initialize") {
            self.open_again(session).await?;
            response = self.post(message, body.clone()).await?;
        }
        if message.is("initialize") {
            *self.state() = State { session: session_of(&response), opened_by: Some(body), ..State::default() };
            return self.deliver(message, response).await;
        }
        self.deliver(message, response).await?;
        self.state().standing.note(message, body);
        Ok(())
    }

    async fn post(&self, message: &ClientMessage, body: Vec<u8>) -> Result<Response, ToolError> {
        let mut post = self
            .with_token(self.remote.client.post(self.remote.url.clone()))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream")
            .body(body);
        for (name, value) in &message.headers {
            post = post.header(*name, value);
        }
        if message.headers.is_empty() && !message.is("initialize") {
            post = self.in_session(post);
        }
        post.send().await.map_err(|error| self.remote.failed(&error))
    }

    /// Passes a response on, and ensures that it contains the answer to the request.
    async fn deliver(&self, message: &ClientMessage, mut response: Response) -> Result<(), ToolError> {
        let status = response.status();
        if !is_stream(&response) {
            let body = response.bytes().await.map_err(|error| self.remote.failed(&error))?;
            let Some(id) = &message.id else { return self.without_id(message, status, body.to_vec()).await };
            let answer = answers(&body, id).ok_or_else(|| {
                ToolError::unavailable(format!("{} answered {status} and no MCP message", self.remote.url))
                    .hint("is this the address of an MCP endpoint, /mcp?")
            })?;
            self.note(message, &answer);
            return self.say(answer).await;
        }
        let mut events = Events::default();
        let mut answered = message.id.is_none();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.broken(&error))? {
            for data in
                events.take(&chunk).map_err(|TooLong| self.broken(format!("a message of over {LONGEST} bytes")))?
            {
                if let Some(id) = &message.id
                    && let Some(answer) = answers(&data, id)
                {
                    answered = true;
                    self.note(message, &answer);
                }
                self.say(data).await?;
            }
        }
        if answered { Ok(()) } else { Err(self.broken("the stream ended")) }
    }

    /// The response to a message that is not a request: empty or, for a batch or an invalid message, JSON.
    async fn without_id(&self, message: &ClientMessage, status: StatusCode, body: Vec<u8>) -> Result<(), ToolError> {
        if message.method.is_none() && serde_json::from_slice::<serde::de::IgnoredAny>(&body).is_ok() {
            return self.say(body).await;
        }
        if status.is_success() {
            return Ok(());
        }
        Err(ToolError::unavailable(format!("{} answered {status} to a notification", self.remote.url)))
    }

    /// Sends the client's `initialize` again, once for all requests that found the session lost. The client does not
    /// notice.
    async fn open_again(&self, gone: Option<String>) -> Result<(), ToolError> {
        let _turn = self.opening.lock().await;
        let (body, standing) = {
            let state = self.state();
            if state.session != gone {
                return Ok(());
            }
            (state.opened_by.clone(), state.standing.all())
        };
        let Some(body) = body else { return Ok(()) };
        let message = ClientMessage::read(&body);
        let response = self.post(&message, body).await?;
        let status = response.status();
        let session = session_of(&response).filter(|_| status.is_success());
        if session.is_none() {
            return Err(ToolError::unavailable(format!("the session is gone, and a new one was refused ({status})")));
        }
        // Discarded: the client already has this answer.
        let _ = response.bytes().await;
        self.state().session = session;
        let ready = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_vec();
        self.post(&ClientMessage::read(&ready), ready).await?;
        for body in standing {
            let answer = self.post(&ClientMessage::read(&body), body).await?;
            let _ = answer.bytes().await;
        }
        self.reopened.notify_waiters();
        Ok(())
    }

    /// Receives the server's own messages, until there is no session or the server offers no such stream.
    pub async fn listen(&self) {
        let (mut pause, mut last_id) = (PAUSE.0, None::<String>);
        while let Some(session) = self.session() {
            let get = self.with_token(self.remote.client.get(self.remote.url.clone()));
            let mut get = self.in_session(get).header(header::ACCEPT, "text/event-stream");
            if let Some(id) = &last_id {
                get = get.header("last-event-id", id);
            }
            match get.send().await {
                Ok(mut response) if is_stream(&response) => {
                    let mut events = Events::after(last_id.take());
                    pause = PAUSE.0;
                    while let Ok(Some(chunk)) = response.chunk().await {
                        let Ok(complete) = events.take(&chunk) else { break };
                        for data in complete {
                            if self.say(data).await.is_err() {
                                return;
                            }
                        }
                    }
                    last_id = events.last_id.filter(|id| !id.is_empty());
                }
                Ok(response) if response.status() == StatusCode::NOT_FOUND => {
                    last_id = None;
                    if self.open_again(Some(session)).await.is_ok() {
                        continue;
                    }
                }
                Ok(response) if response.status().is_client_error() => return,
                _ => {}
            }
            // Wait for the delay, or until a request has reopened the session.
            if tokio::time::timeout(pause, self.reopened.notified()).await.is_err() {
                pause = (pause * 2).min(PAUSE.1);
            }
        }
    }

    /// Ends the session on the server.
    pub async fn close(&self) {
        if self.has_session() {
            let delete = self.with_token(self.remote.client.delete(self.remote.url.clone()));
            let _ = tokio::time::timeout(Duration::from_secs(2), self.in_session(delete).send()).await;
        }
    }

    fn with_token(&self, request: RequestBuilder) -> RequestBuilder {
        match self.remote.token() {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    fn in_session(&self, mut request: RequestBuilder) -> RequestBuilder {
        let state = self.state();
        if let Some(session) = &state.session {
            request = request.header(SESSION_ID, session);
        }
        if let Some(version) = &state.version {
            request = request.header("mcp-protocol-version", version);
        }
        request
    }

    fn note(&self, message: &ClientMessage, answer: &[u8]) {
        if message.is("initialize") {
            self.state().version = negotiated(answer);
        }
    }

    /// Sends a message of the bridge itself; ignores a client that has disconnected.
    pub async fn say_anyhow(&self, message: Vec<u8>) {
        let _ = self.say(message).await;
    }

    async fn say(&self, message: Vec<u8>) -> Result<(), ToolError> {
        self.out.send(message).await.map_err(|_| ToolError::cancelled("the bridge"))
    }

    async fn fail(&self, id: &str, error: &ToolError) {
        let object = serde_json::json!({ "code": error.code.rpc(), "message": error.advice(), "data": error.data() });
        let _ = self.say(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{object}}}").into_bytes()).await;
    }

    fn broken(&self, why: impl std::fmt::Display) -> ToolError {
        ToolError::unavailable(format!("the connection broke before the answer came: {why}")).hint(MAY_HAVE_BEEN_DONE)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE).map(header::HeaderValue::as_bytes);
    kind.is_some_and(|kind| kind.starts_with(b"text/event-stream"))
}

fn session_of(response: &Response) -> Option<String> {
    response.headers().get(SESSION_ID)?.to_str().ok().map(str::to_owned)
}
