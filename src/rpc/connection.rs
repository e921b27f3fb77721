//! One conversation over a stream of messages: stdio, unix socket, WebSocket.
//!
//! Calls run concurrently and are answered as they finish; a cancellation applies to the call it names.

use super::{
    batch::Outbound,
    envelope::{self, FrameContent, INVALID_REQUEST, Id, Message, RpcError},
    mcp::bridge::Bridge,
    outbox::{Outbox, Outgoing, outbox},
    params::{InitializeParams, cancelled_id},
    reply,
    router::{RequestContext, RequestRoute, Server},
    running::{OpenRequests, RequestRefused},
    session::Session,
    soon,
    ticket::Ticket,
};
use base::error::{ErrorCode, ToolError};
use contract::access::{caller::Caller, presence::Presence};
use serde_json::value::RawValue;
use std::{collections::HashSet, sync::Arc, time::Duration};
use tokio_util::task::TaskTracker;

/// Most open requests per connection.
const OPEN_REQUESTS: usize = 64;
/// How long a closing connection waits for cancelled calls, and for a peer that may not be reading.
pub const PARTING: Duration = Duration::from_secs(1);

/// One conversation. Feed it messages; its [`Outgoing`] yields the answers.
pub struct Connection {
    server: Arc<Server>,
    caller: Arc<Caller>,
    session: Session,
    outbox: Outbox,
    running: OpenRequests,
    calls: TaskTracker,
    bridge: Option<Bridge>,
}

impl Connection {
    pub fn new(server: Arc<Server>, caller: Caller) -> (Self, Outgoing) {
        let (outbox, outgoing) = outbox(server.pipeline.bounds.response_bytes);
        let presence = caller.presence.clone().unwrap_or_default();
        let running = OpenRequests::seated(presence.seat());
        let caller = Caller { presence: Some(presence), ..caller };
        let connection = Self {
            server,
            caller: Arc::new(caller),
            session: Session::default(),
            outbox,
            running,
            calls: TaskTracker::new(),
            bridge: None,
        };
        (connection, outgoing)
    }

    /// Processes one message. Returns when the next one may be read, which is before the answer is ready.
    pub async fn accept(&mut self, bytes: &[u8]) {
        self.outbox.room().await;
        let bytes = &bytes[envelope::byte_order_mark(bytes)..];
        match envelope::parse(bytes, self.server.options.max_depth) {
            Ok(FrameContent::Single(message)) => self.message(message, bytes).await,
            Ok(FrameContent::Batch(items)) if self.session.batches() => self.batch(&items).await,
            Ok(FrameContent::Batch(_)) => {
                let why =
                    "Invalid Request: batches exist in protocol revision 2025-03-26 only; send one message at a time";
                self.refuse(&RpcError::new(None, INVALID_REQUEST, why)).await;
            }
            Err(fault) => self.refuse(&fault).await,
        }
    }

    /// Answers a message that exceeded the size limit and was discarded.
    pub async fn too_long(&mut self) {
        self.outbox.send(Outbound::Message(too_long_reply(self.server.options.request_bytes))).await;
    }

    /// Resolves when the peer no longer reads answers. Drop it before [`Connection::finish`]: it keeps the outbox open,
    /// and the other end waits until the outbox closes.
    pub fn gone(&self) -> impl Future<Output = ()> + use<> {
        let outbox = self.outbox.clone();
        async move { outbox.closed().await }
    }

    /// Resolves when this connection must make room for another; never on transports without such a limit.
    pub fn evicted(&self) -> impl Future<Output = ()> + use<> {
        let seat = self.caller.presence.as_ref().and_then(Presence::seat);
        async move {
            match seat {
                Some(seat) => seat.evicted().await,
                None => std::future::pending().await,
            }
        }
    }

    /// The peer is gone: cancels all requests.
    pub fn abandon(&self) {
        self.running.cancel_all();
    }

    /// No more messages will arrive: lets running calls finish, cancels those that exceed the grace period, and closes
    /// the connection.
    pub async fn finish(mut self) {
        self.calls.close();
        if self.settles(self.server.options.grace).await {
            return;
        }
        self.running.cancel_all();
        if !self.settles(PARTING).await
            && let Some(bridge) = self.bridge.take()
        {
            bridge.abandon();
        }
    }

    /// Whether all calls end within `patience` while the peer still reads.
    async fn settles(&self, patience: Duration) -> bool {
        tokio::select! {
            () = self.calls.wait() => true,
            () = self.outbox.closed() => false,
            () = tokio::time::sleep(patience) => false,
        }
    }

    /// Answers a malformed message.
    pub async fn fault(&self, fault: &RpcError) {
        self.refuse(fault).await;
    }

    async fn refuse(&self, fault: &RpcError) {
        self.outbox.send(Outbound::Message(fault.reply())).await;
    }

    async fn batch(&mut self, items: &[&RawValue]) {
        let (mut seen, mut ids, mut ready, mut good) = (HashSet::new(), Vec::new(), Vec::new(), Vec::new());
        for item in items {
            match envelope::parse_element(item) {
                Ok(Message::Request { id, .. }) if self.running.contains(&id.key()) || !seen.insert(id.key()) => {
                    ready.push(in_use(&id).reply());
                }
                Ok(Message::Request { id, method, .. }) if method == "initialize" => {
                    let why = "Invalid Request: initialize cannot be part of a batch";
                    ready.push(RpcError::new(Some(id), INVALID_REQUEST, why).reply());
                }
                Ok(message) => {
                    if let Message::Request { id, .. } = &message {
                        ids.push(id.clone());
                    }
                    good.push((message, item.get().as_bytes()));
                }
                Err(fault) => ready.push(fault.reply()),
            }
        }
        self.outbox.send(Outbound::Batch { ids, ready }).await;
        for (message, bytes) in good {
            self.message(message, bytes).await;
        }
    }

    async fn message(&mut self, message: Message<'_>, bytes: &[u8]) {
        match message {
            Message::Request { id, method, params } => self.request(&id, &method, params, bytes).await,
            Message::Notification { method, params } => match method.as_str() {
                "notifications/cancelled" | "$/cancelRequest" => self.cancel(params).await,
                method if method.starts_with("notifications/") => self.hand_to_mcp(None, bytes).await,
                // Notifications never run tools and are never answered.
                method => tracing::debug!(method, "ignored a notification that names no notification of ours"),
            },
            Message::Response => self.hand_to_mcp(None, bytes).await,
        }
    }

    async fn request(&mut self, id: &Id, method: &str, params: Option<&RawValue>, bytes: &[u8]) {
        let key = id.key();
        if self.running.contains(&key) {
            // Not sent as the answer to this id: the open request with the same id may be part of a batch.
            return self.refuse(&in_use(id)).await;
        }
        if method == "initialize"
            && let Some(params) = InitializeParams::peek(params)
        {
            self.session.learn(params);
        }
        let client = self.session.client.as_deref();
        let context = RequestContext { caller: &self.caller, client, notifies: true, converses: true };
        match self.server.route(&context, id, method, params) {
            RequestRoute::Answer(bytes) => self.outbox.send(Outbound::Answer(key, bytes)).await,
            RequestRoute::Call(ticket) => self.call(*ticket, key).await,
            RequestRoute::Mcp => {
                let completed = self.server.completed(method, bytes);
                self.hand_to_mcp(Some(id), completed.as_deref().unwrap_or(bytes)).await;
            }
        }
    }

    async fn call(&mut self, ticket: Ticket, key: String) {
        let entered = match self.running.open(&key, OPEN_REQUESTS) {
            Ok(entered) => entered,
            Err(refused) => return self.outbox.send(Outbound::Answer(key, not_opened(&ticket.id, refused))).await,
        };
        let (outbox, server) = (self.outbox.clone(), Arc::clone(&self.server));
        let progress = ticket.progress({
            let outbox = self.outbox.clone();
            move |bytes| outbox.offer(bytes)
        });
        let (call, answerer) = ticket.start(Arc::clone(&self.caller), entered.cancel.clone(), progress, None);
        // Also tracked by the server: the audit record must be written even if the client is gone.
        let served = self.calls.track_future(self.server.tasks.track_future(async move {
            let finished = server.pipeline.run(call).await;
            // Before the answer is sent: the client may reuse the id as soon as it has read it.
            drop(entered);
            outbox.send(Outbound::Answer(key, answerer.answer(&finished))).await;
        }));
        // The answer goes to the outbox, so the result is not awaited here.
        drop(soon::begin(served));
    }

    async fn cancel(&mut self, params: Option<&RawValue>) {
        let Some(id) = cancelled_id(params) else { return };
        match &self.bridge {
            Some(bridge) if bridge.withdraw(&id).await => {}
            _ => drop(self.running.cancel(&id)),
        }
    }

    async fn hand_to_mcp(&mut self, id: Option<&Id>, bytes: &[u8]) {
        if self.bridge.as_ref().is_none_or(Bridge::has_ended) {
            // Only a request opens a conversation.
            if id.is_none() {
                return;
            }
            let (outbox, calls, running) = (self.outbox.clone(), self.calls.clone(), self.running.clone());
            self.bridge = Some(Bridge::open(&self.server, &self.caller, outbox, calls, running));
        }
        let entered = match id.map(|id| self.running.open(&id.key(), OPEN_REQUESTS)) {
            None => None,
            Some(Ok(entered)) => Some(entered),
            Some(Err(refused)) => {
                let Some(id) = id else { return };
                return self.outbox.send(Outbound::Answer(id.key(), not_opened(id, refused))).await;
            }
        };
        if let Some(bridge) = &self.bridge
            && let Err(fault) = bridge.forward(id, bytes, entered).await
        {
            match id {
                Some(id) => self.outbox.send(Outbound::Answer(id.key(), fault.reply())).await,
                None => tracing::debug!(fault.message, "ignored a notification or response that MCP does not know"),
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.running.cancel_all();
        if let Some(presence) = &self.caller.presence {
            presence.leave();
            self.server.pipeline.services.left(presence);
        }
    }
}

/// The answer to a message over the size limit. Its id was discarded with it.
pub fn too_long_reply(limit: usize) -> Vec<u8> {
    let error = ToolError::new(ErrorCode::ContentTooLarge, format!("a message may have at most {limit} bytes"))
        .with("limit_bytes", limit)
        .hint("send less at once; limits.max_request_bytes sets the limit");
    reply::error(None, error.code.rpc(), &error.message, Some(&error.data()))
}

fn in_use(id: &Id) -> RpcError {
    RpcError::new(
        Some(id.clone()),
        INVALID_REQUEST,
        format!("Invalid Request: id {id} is in use by a request that is still open"),
    )
}

fn not_opened(id: &Id, refused: RequestRefused) -> Vec<u8> {
    match refused {
        RequestRefused::InUse => in_use(id).reply(),
        RequestRefused::Full => crowded(id),
    }
}

fn crowded(id: &Id) -> Vec<u8> {
    let error = ToolError::exhausted(format!("{OPEN_REQUESTS} requests of this connection are open already"))
        .with("limit", OPEN_REQUESTS)
        .hint("wait for an answer before the next request");
    reply::error(Some(id), error.code.rpc(), &error.message, Some(&error.data()))
}
