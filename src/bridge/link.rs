//! One conversation with the server: what is sent with each message, and what comes back.

use super::{
    events::{Events, LONGEST, TooLong},
    message::{Message, answers, negotiated},
    standing::Standing,
};
use crate::{client::Remote, rpc::mcp::http::SESSION_ID};
use base::error::ToolError;
use reqwest::{RequestBuilder, Response, StatusCode, header};
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{Notify, mpsc};

/// Before the stream for the server's own messages is opened again: at first, and at most.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Messages for the client.
pub type Out = mpsc::Sender<Vec<u8>>;

pub struct Link {
    remote: Remote,
    out: Out,
    state: Mutex<State>,
    /// One at a time opens a session anew.
    opening: tokio::sync::Mutex<()>,
    /// Somebody has: whoever listens begins anew.
    reopened: Notify,
}

#[derive(Default)]
struct State {
    session: Option<String>,
    /// Settled by `initialize`.
    version: Option<String>,
    /// The client's own `initialize`, to be said again to a server that has forgotten it.
    opened_by: Option<Vec<u8>>,
    standing: Standing,
}

impl Link {
    pub fn new(remote: Remote, out: Out) -> Self {
        Self { remote, out, state: Mutex::default(), opening: tokio::sync::Mutex::default(), reopened: Notify::new() }
    }

    /// Sends one message; whatever comes back goes to the client. A request is answered whatever happens.
    pub async fn send(&self, message: Message, body: Vec<u8>) {
        if let Err(error) = self.exchange(&message, body).await {
            match &message.id {
                Some(id) => self.fail(id.get(), &error).await,
                // Nobody waits for it; the client shows or keeps what its servers say on stderr.
                None => crate::terminal::err(format_args!("raspi-mcp bridge: {}\n", error.advice())),
            }
        }
    }

    /// Whether there is a session, in which the server may say something by itself.
    pub fn has_session(&self) -> bool {
        self.session().is_some()
    }

    fn session(&self) -> Option<String> {
        self.state().session.clone()
    }

    async fn exchange(&self, message: &Message, body: Vec<u8>) -> Result<(), ToolError> {
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

    async fn post(&self, message: &Message, body: Vec<u8>) -> Result<Response, ToolError> {
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
        post.send().await.map_err(|error| self.remote.offline(&error))
    }

    /// Hands over what a response holds, and makes sure that a request's answer is in it.
    async fn deliver(&self, message: &Message, mut response: Response) -> Result<(), ToolError> {
        let status = response.status();
        if !is_stream(&response) {
            let body = response.bytes().await.map_err(|error| self.remote.offline(&error))?;
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

    /// What came back for a message that expects nothing: nothing, or, for a batch or bytes that are no message at all, JSON.
    async fn without_id(&self, message: &Message, status: StatusCode, body: Vec<u8>) -> Result<(), ToolError> {
        if message.method.is_none() && serde_json::from_slice::<serde::de::IgnoredAny>(&body).is_ok() {
            return self.say(body).await;
        }
        if status.is_success() {
            return Ok(());
        }
        Err(ToolError::unavailable(format!("{} answered {status} to a notification", self.remote.url)))
    }

    /// Says the client's `initialize` again, once for everybody who found the session gone. The client need not know.
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
        let message = Message::read(&body);
        let response = self.post(&message, body).await?;
        let status = response.status();
        let session = session_of(&response).filter(|_| status.is_success());
        if session.is_none() {
            return Err(ToolError::unavailable(format!("the session is gone, and a new one was refused ({status})")));
        }
        // Only its end matters: the client has had this answer.
        let _ = response.bytes().await;
        self.state().session = session;
        let ready = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_vec();
        self.post(&Message::read(&ready), ready).await?;
        for body in standing {
            let answer = self.post(&Message::read(&body), body).await?;
            let _ = answer.bytes().await;
        }
        self.reopened.notify_waiters();
        Ok(())
    }

    /// Listens to what the server says by itself, until there is no session or the server has no such stream.
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
            // Until it is worth trying again, or a request found the server first.
            if tokio::time::timeout(pause, self.reopened.notified()).await.is_err() {
                pause = (pause * 2).min(PAUSE.1);
            }
        }
    }

    /// Tells the server that this conversation is over.
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

    fn note(&self, message: &Message, answer: &[u8]) {
        if message.is("initialize") {
            self.state().version = negotiated(answer);
        }
    }

    /// What the bridge itself has to say; a client that has gone does not hear it.
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
        ToolError::unavailable(format!("the connection broke before the answer came: {why}"))
            .hint("what was asked may have been done; look before asking again")
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
