//! One POST: one message (or a batch of 2025-03-26) in, its answer out.

use super::{
    App,
    body::{self, Unread},
};
use crate::{
    metrics::RefusalReason,
    rpc::{
        batch,
        connection::too_long_reply,
        envelope::{self, FrameContent, INVALID_REQUEST, Id, Message, RpcError},
        mcp::http::{Endpoint, SESSION_ID},
        modern,
        params::{BATCHING, InitializeParams, cancelled_id},
        reply,
        router::{RequestContext, RequestRoute, Server},
        session::Session,
        soon,
        ticket::Ticket,
    },
};
use axum::{
    body::Body,
    extract::Request,
    http::{HeaderValue, Method, Response, StatusCode, header, request::Parts},
    response::IntoResponse,
};
use base::error::{ErrorCode, ToolError};
use bytes::Bytes;
use contract::access::caller::Caller;
use http_body_util::BodyExt;
use serde_json::value::RawValue;
use std::sync::Arc;

/// A request that was read, with its context.
struct Post<'a> {
    app: &'a App,
    endpoint: Endpoint,
    parts: Parts,
    caller: Arc<Caller>,
    /// The session it names.
    session: Option<Session>,
}

/// Answers a POST.
pub async fn serve(app: &App, endpoint: Endpoint, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Some(caller) = parts.extensions.get::<Arc<Caller>>().cloned() else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let counts = &app.server.metrics;
    if !is_json(&parts) {
        counts.refused(RefusalReason::Body);
        return refuse(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            &ToolError::invalid("Content-Type must be application/json"),
        );
    }
    let limit = app.server.options.request_bytes;
    let body = body::read(body, limit, app.body_timeout).await;
    if body.is_err() {
        counts.refused(RefusalReason::Body);
    }
    let bytes = match body {
        Ok(bytes) => bytes,
        Err(Unread::TooLong) => return closing(json(StatusCode::PAYLOAD_TOO_LARGE, too_long_reply(limit))),
        Err(Unread::TooSlow) => {
            let error = ToolError::timeout("reading the request", app.body_timeout).hint("send the body in one go");
            return closing(refuse(StatusCode::REQUEST_TIMEOUT, &error));
        }
        Err(Unread::Broken) => return closing(StatusCode::BAD_REQUEST.into_response()),
    };
    let session = match visit(app, &parts, &caller) {
        Ok(session) => session,
        Err(response) => return *response,
    };
    let bytes = bytes.slice(envelope::byte_order_mark(&bytes)..);
    let post = Post { app, endpoint, parts, caller, session };
    match envelope::parse(&bytes, app.server.options.max_depth) {
        Ok(FrameContent::Single(message)) => post.single(message, bytes.clone()).await,
        Ok(FrameContent::Batch(items)) => post.batch(&items).await,
        Err(fault) => json(StatusCode::BAD_REQUEST, fault.reply()),
    }
}

/// Passes a GET or DELETE to rmcp, after checking that the session belongs to the caller.
pub async fn pass(app: &App, request: Request) -> Response<Body> {
    let (parts, _) = request.into_parts();
    let Some(caller) = parts.extensions.get::<Arc<Caller>>().cloned() else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    if let Err(response) = visit(app, &parts, &caller) {
        return *response;
    }
    let ends = parts.method == Method::DELETE;
    let mut response = app.mcp.handle(Endpoint::Streamable, parts, Bytes::new(), &caller).await;
    if ends && response.status() == StatusCode::ACCEPTED {
        // The session has ended. rmcp answers 202, which clients take for "not yet".
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response
}

/// The session that the headers name, if any. Sessions of other callers count as not existing.
fn visit(app: &App, parts: &Parts, caller: &Caller) -> Result<Option<Session>, Box<Response<Body>>> {
    let Some(id) = parts.headers.get(SESSION_ID) else { return Ok(None) };
    id.to_str().ok().and_then(|id| app.mcp.sessions.visit(id, &caller.principal)).map(Some).ok_or_else(|| {
        app.server.metrics.refused(RefusalReason::Session);
        let error = ToolError::not_found("there is no such session (it ended, or never was yours)")
            .hint("send initialize to open one");
        Box::new(refuse(StatusCode::NOT_FOUND, &error))
    })
}

impl Post<'_> {
    async fn single(self, message: Message<'_>, bytes: Bytes) -> Response<Body> {
        match message {
            Message::Request { id, method, params } => self.request(&id, &method, params, bytes.clone()).await,
            Message::Notification { method, params } => {
                if matches!(method.as_str(), "notifications/cancelled" | "$/cancelRequest") && self.cancel(params) {
                    return StatusCode::ACCEPTED.into_response();
                }
                if method.starts_with("notifications/") && self.converses(params) {
                    return self.hand_to_mcp(bytes.clone()).await;
                }
                StatusCode::ACCEPTED.into_response()
            }
            Message::Response => self.hand_to_mcp(bytes.clone()).await,
        }
    }

    async fn request(self, id: &Id, method: &str, params: Option<&RawValue>, bytes: Bytes) -> Response<Body> {
        let bytes = self.app.server.completed(method, &bytes).map_or(bytes, Bytes::from);
        let opens_session = method == "initialize" && self.endpoint == Endpoint::Streamable;
        let modern = match modern::era(&self.parts.headers, method, params) {
            modern::Era::Legacy => false,
            modern::Era::Modern => true,
            // Its headers or metadata are inconsistent: rmcp reports what is wrong.
            modern::Era::Unclear if opens_session => return self.initialize(id, params, bytes).await,
            modern::Era::Unclear => return self.hand_to_mcp(bytes).await,
        };
        match self.route(id, method, params) {
            RequestRoute::Answer(answer) => {
                let unknown = modern && !method.starts_with("tools/");
                json(if unknown { StatusCode::NOT_FOUND } else { StatusCode::OK }, answer)
            }
            RequestRoute::Call(ticket) => json(StatusCode::OK, self.call(*ticket).await),
            RequestRoute::Mcp if opens_session => self.initialize(id, params, bytes).await,
            RequestRoute::Mcp if !modern && !self.is_served_without_session() => {
                json(StatusCode::BAD_REQUEST, needs_session(id, method).reply())
            }
            RequestRoute::Mcp => self.request_to_mcp(id, bytes).await,
        }
    }

    /// The plain endpoint has no sessions; on the other, rmcp answers requests of older revisions only within one.
    fn is_served_without_session(&self) -> bool {
        self.endpoint == Endpoint::Plain || self.session.is_some()
    }

    /// Requests that rmcp answers can be cancelled too.
    async fn request_to_mcp(mut self, id: &Id, bytes: Bytes) -> Response<Body> {
        let entered = Arc::new(self.app.running.enter(self.key(&id.key())));
        self.parts.extensions.insert(Arc::clone(&entered));
        // Open until the whole answer was sent, which may be an event stream.
        self.hand_to_mcp(bytes).await.map(|body| {
            Body::new(body.map_frame(move |frame| {
                let _open = &entered;
                frame
            }))
        })
    }

    fn route(&self, id: &Id, method: &str, params: Option<&RawValue>) -> RequestRoute {
        let client = self.session.as_ref().and_then(|session| session.client.as_deref());
        // Without a session the client cannot be asked or notified, so a progress token has no effect.
        let converses = self.converses(params);
        let notifies = !(converses && self.endpoint == Endpoint::Streamable);
        let context = RequestContext { caller: &self.caller, client, notifies, converses };
        self.app.server.route(&context, id, method, params)
    }

    /// Whether rmcp can serve this message as part of a conversation.
    fn converses(&self, params: Option<&RawValue>) -> bool {
        (self.endpoint == Endpoint::Streamable && self.session.is_some()) || Server::is_modern(params)
    }

    async fn initialize(self, id: &Id, params: Option<&RawValue>, bytes: Bytes) -> Response<Body> {
        if let Err(full) = self.app.mcp.sessions.make_room(&self.caller).await {
            self.app.server.metrics.refused(RefusalReason::Sessions);
            let error = full
                .error("open sessions")
                .hint("end one (DELETE with its Mcp-Session-Id), or raise http.session_limit");
            return json(
                StatusCode::SERVICE_UNAVAILABLE,
                reply::error(Some(id), error.code.rpc(), &error.message, Some(&error.data())),
            );
        }
        self.app.mcp.initialize(self.parts, bytes, &self.caller, InitializeParams::peek(params)).await
    }

    async fn hand_to_mcp(self, bytes: Bytes) -> Response<Body> {
        if let Err(fault) = crate::rpc::mcp::bridge::check(&bytes) {
            return json(StatusCode::OK, fault.reply());
        }
        self.app.mcp.handle(self.endpoint, self.parts, bytes, &self.caller).await
    }

    /// Runs a call as a task, so that a client that disconnects cancels the call but not its audit record.
    async fn call(&self, ticket: Ticket) -> Vec<u8> {
        // Two open requests with the same id are allowed, as each has its own HTTP request; a cancellation reaches the
        // newer.
        let entered = self.app.running.enter(self.key(&ticket.id.key()));
        let cancel = entered.cancel.clone();
        let _gone = cancel.clone().drop_guard();
        let server = Arc::clone(&self.app.server);
        let (call, answerer) = ticket.start(Arc::clone(&self.caller), cancel, Default::default(), None);
        let answer = {
            let server = Arc::clone(&server);
            async move { answerer.answer(&server.pipeline.run(call).await) }
        };
        soon::begin(server.tasks.track_future(answer)).finish().await.unwrap_or_else(|error| {
            RpcError::new(None, envelope::INTERNAL_ERROR, format!("Internal error: {error}")).reply()
        })
    }

    /// Without a session, anonymous callers cannot be distinguished, and ids are small numbers, so they must not cancel
    /// each other's requests. Such a client cancels by disconnecting.
    fn cancel(&self, params: Option<&RawValue>) -> bool {
        if self.session.is_none() && self.caller.is_anonymous() {
            return false;
        }
        cancelled_id(params).is_some_and(|id| self.app.running.cancel(&self.key(&id)))
    }

    /// A cancellation reaches only requests of the same principal, and of the same session if there is one.
    fn key(&self, id: &str) -> String {
        let session = self.parts.headers.get(SESSION_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
        format!("{}\n{session}\n{id}", self.caller.principal)
    }

    async fn batch(self, items: &[&RawValue]) -> Response<Body> {
        let header = self.parts.headers.get("mcp-protocol-version").and_then(|version| version.to_str().ok());
        if header != Some(BATCHING) && !self.session.as_ref().is_some_and(Session::batches) {
            let why = "Invalid Request: batches exist in protocol revision 2025-03-26 only; send one message at a time";
            return json(StatusCode::BAD_REQUEST, RpcError::new(None, INVALID_REQUEST, why).reply());
        }
        let mut answers = batch::Answers::new(self.app.server.pipeline.bounds.response_bytes);
        for item in items {
            match envelope::parse_element(item) {
                Ok(Message::Request { id, method, params }) => {
                    answers.push(Some(&id), self.batched(&id, &method, params, item).await);
                }
                Ok(Message::Notification { params, .. }) => drop(self.cancel(params)),
                Ok(Message::Response) => {}
                Err(fault) => answers.push(fault.id.as_ref(), fault.reply()),
            }
        }
        if answers.ready.is_empty() {
            return StatusCode::ACCEPTED.into_response();
        }
        json(StatusCode::OK, batch::join(&answers.ready))
    }

    async fn batched(&self, id: &Id, method: &str, params: Option<&RawValue>, item: &RawValue) -> Vec<u8> {
        if method == "initialize" {
            return RpcError::new(
                Some(id.clone()),
                INVALID_REQUEST,
                "Invalid Request: initialize cannot be part of a batch",
            )
            .reply();
        }
        match self.route(id, method, params) {
            RequestRoute::Answer(answer) => answer,
            RequestRoute::Call(ticket) => self.call(*ticket).await,
            RequestRoute::Mcp if !self.is_served_without_session() => needs_session(id, method).reply(),
            RequestRoute::Mcp => {
                let body = Bytes::copy_from_slice(item.get().as_bytes());
                if let Err(fault) = crate::rpc::mcp::bridge::check(&body) {
                    return fault.reply();
                }
                let response = self.app.mcp.handle(self.endpoint, self.parts.clone(), body, &self.caller).await;
                modern::answer_in(response, self.app.server.pipeline.bounds.response_bytes).await.unwrap_or_else(|| {
                    RpcError::new(Some(id.clone()), envelope::INTERNAL_ERROR, "Internal error: no answer came").reply()
                })
            }
        }
    }
}

fn needs_session(id: &Id, method: &str) -> RpcError {
    let method: String = method.chars().take(128).collect();
    let why =
        format!("Invalid Request: {method} needs a session here; send initialize, then its Mcp-Session-Id header");
    RpcError::new(Some(id.clone()), INVALID_REQUEST, why)
}

pub(super) fn is_json(parts: &Parts) -> bool {
    let value = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

pub(super) fn json(status: StatusCode, body: Vec<u8>) -> Response<Body> {
    (status, [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
}

/// Refuses a request before it was parsed.
pub fn refuse(status: StatusCode, error: &ToolError) -> Response<Body> {
    let code = if error.code == ErrorCode::InvalidArgument { INVALID_REQUEST } else { error.code.rpc() };
    json(status, reply::error(None, code, &error.message, Some(&error.data())))
}

/// The rest of the body is not read: the connection closes after this answer.
pub(super) fn closing(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
