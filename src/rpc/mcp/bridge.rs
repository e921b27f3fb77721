//! Carries messages between a connection and rmcp's service, which sees it as a transport.

use super::{fault::complete, handler::McpHandler};
use crate::rpc::{
    batch::Outbound,
    envelope::{self, FrameContent, INVALID_PARAMS, INVALID_REQUEST, Id, Message, RpcError},
    outbox::Outbox,
    reply,
    router::{Server, is_mcp},
    running::{Entered, OpenRequests},
};
use base::error::ToolError;
use contract::access::caller::Caller;
use rmcp::{
    RoleServer,
    model::{
        CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification, ClientRequest, GetMeta, JsonRpcMessage,
        RequestId, ServerJsonRpcMessage,
    },
    service::serve_server_with_ct,
    transport::Transport,
};
use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::mpsc;
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

/// Most messages queued for rmcp.
const QUEUE: usize = 16;

type Pending = Arc<Mutex<HashMap<String, Open>>>;

/// A request that rmcp has not answered yet.
struct Open {
    id: RequestId,
    method: String,
    /// The connection waits for it before it closes.
    _waited_for: TaskTrackerToken,
    /// Keeps the id in use.
    _entered: Option<Entered>,
}

/// The connection's end of the bridge.
pub struct Bridge {
    to_service: mpsc::Sender<ClientJsonRpcMessage>,
    pending: Pending,
    outbox: Outbox,
    calls: TaskTracker,
    stop: CancellationToken,
    /// A request that opens a conversation was forwarded. Until then rmcp accepts requests only, and ends at anything
    /// else.
    begun: AtomicBool,
}

impl Bridge {
    /// Starts a service for this conversation. It ends when the bridge is dropped.
    pub fn open(
        server: &Arc<Server>,
        caller: &Arc<Caller>,
        outbox: Outbox,
        calls: TaskTracker,
        running: OpenRequests,
    ) -> Self {
        let (to_service, from_client) = mpsc::channel(QUEUE);
        let (pending, stop) = (Pending::default(), CancellationToken::new());
        let pipe = Pipe { from_client, outbox: outbox.clone(), pending: Arc::clone(&pending) };
        let handler = McpHandler::on_stream(Arc::clone(server), Arc::clone(caller), running);
        let (token, unanswered, answers) = (stop.clone(), Arc::clone(&pending), outbox.clone());
        base::task::spawn_on(&server.tasks, async move {
            match serve_server_with_ct(handler, pipe, token).await {
                Ok(service) => drop(service.waiting().await),
                Err(error) => tracing::debug!(%error, "a conversation ended before it began"),
            }
            // Requests that it left open still get exactly one answer.
            let left: Vec<Open> = take(&unanswered).drain().map(|(_, open)| open).collect();
            for open in left {
                answers.send(Outbound::Answer(open.id.to_string(), ended(&own(&open.id)).reply())).await;
            }
        });
        Self { to_service, pending, outbox, calls, stop, begun: AtomicBool::new(false) }
    }

    /// Forwards one message; `entered` keeps a request's id in use until it is answered.
    ///
    /// # Errors
    /// -32602 if the method is one of MCP and its parameters are invalid; -32600 if the conversation has ended.
    pub async fn forward(&self, id: Option<&Id>, bytes: &[u8], entered: Option<Entered>) -> Result<(), RpcError> {
        let message = typed(id, bytes)?;
        if let JsonRpcMessage::Request(request) = &message {
            if opens(&request.request) {
                self.begun.store(true, Ordering::Release);
            }
            let open = Open {
                id: request.id.clone(),
                method: request.request.method().to_owned(),
                _waited_for: self.calls.token(),
                _entered: entered,
            };
            self.lock().insert(request.id.to_string(), open);
        } else if !self.begun.load(Ordering::Acquire) {
            // Notifications and answers have no meaning before the conversation begins.
            return Ok(());
        }
        if self.to_service.send(message).await.is_err()
            && let Some(id) = id
            && self.lock().remove(&id.key()).is_some()
        {
            return Err(ended(id));
        }
        Ok(())
    }

    /// Cancels a request by the canonical form of its id and answers it, since rmcp does not answer a cancelled
    /// request. Returns false for other requests: a tool call is cancelled by its own token and answers itself.
    pub async fn withdraw(&self, id: &str) -> bool {
        let open = {
            let mut pending = self.lock();
            match pending.get(id) {
                Some(open) if open.method != "tools/call" => pending.remove(id),
                _ => return false,
            }
        };
        let Some(Open { id: request_id, method, .. }) = open else { return false };
        let error = ToolError::cancelled(&method);
        let answered = own(&request_id);
        if self.begun.load(Ordering::Acquire) {
            let params = CancelledNotificationParam::new(Some(request_id), None);
            let notification =
                ClientNotification::CancelledNotification(rmcp::model::CancelledNotification::new(params));
            let _ = self.to_service.send(ClientJsonRpcMessage::notification(notification)).await;
        }
        let answer = reply::error(Some(&answered), error.code.rpc(), &error.message, Some(&error.data()));
        self.outbox.send(Outbound::Answer(id.to_owned(), answer)).await;
        true
    }

    /// Whether the service has ended and serves no further messages.
    pub fn has_ended(&self) -> bool {
        self.to_service.is_closed()
    }

    /// Ends the service now; open requests stay unanswered.
    pub fn abandon(self) {
        self.stop.cancel();
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Open>> {
        take(&self.pending)
    }
}

fn take(pending: &Pending) -> MutexGuard<'_, HashMap<String, Open>> {
    pending.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether rmcp accepts this request as the start of a conversation (`initialize`, or a request with its own metadata).
fn opens(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => other.get_meta().protocol_version().is_some(),
    }
}

fn own(id: &RequestId) -> Id {
    match id {
        RequestId::Number(number) => Id::Number(*number),
        RequestId::String(text) => Id::Text(text.to_string()),
    }
}

fn ended(id: &Id) -> RpcError {
    RpcError::new(
        Some(id.clone()),
        INVALID_REQUEST,
        "Invalid Request: the conversation has ended; send initialize again",
    )
}

/// Parses a message into rmcp's types.
///
/// # Errors
/// -32602 if the method is one of MCP and its parameters are invalid (rmcp alone would report an unknown method).
pub fn typed(id: Option<&Id>, bytes: &[u8]) -> Result<ClientJsonRpcMessage, RpcError> {
    let bad = |why: String| RpcError::new(id.cloned(), INVALID_PARAMS, format!("Invalid params: {why}"));
    let message: ClientJsonRpcMessage = serde_json::from_slice(bytes).map_err(|error| bad(error.to_string()))?;
    if let JsonRpcMessage::Request(request) = &message
        && let ClientRequest::CustomRequest(custom) = &request.request
        && (is_mcp(&custom.method) || custom.method == "tools/call")
    {
        return Err(bad(format!("they do not fit {}", custom.method)));
    }
    Ok(message)
}

/// Whether rmcp can parse this message; see [`typed`].
///
/// # Errors
/// As [`typed`].
pub fn check(bytes: &[u8]) -> Result<(), RpcError> {
    let id = match envelope::parse(bytes, usize::MAX) {
        Ok(FrameContent::Single(Message::Request { id, .. })) => Some(id),
        _ => None,
    };
    typed(id.as_ref(), bytes).map(drop)
}

/// rmcp's end of the bridge.
struct Pipe {
    from_client: mpsc::Receiver<ClientJsonRpcMessage>,
    outbox: Outbox,
    pending: Pending,
}

impl Transport<RoleServer> for Pipe {
    type Error = Infallible;

    fn send(
        &mut self,
        mut message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        let (outbox, pending) = (self.outbox.clone(), Arc::clone(&self.pending));
        if let JsonRpcMessage::Error(answer) = &mut message {
            complete(&mut answer.error);
        }
        async move {
            let id = match &message {
                JsonRpcMessage::Response(response) => Some(response.id.to_string()),
                JsonRpcMessage::Error(error) => error.id.as_ref().map(ToString::to_string),
                _ => None,
            };
            let bytes = serde_json::to_vec(&message).expect("rmcp's messages are plain data");
            match id {
                None => outbox.send(Outbound::Message(bytes)).await,
                Some(id) => {
                    // The side that removes the entry sends the answer: a withdrawn request was already answered.
                    let open = take(&pending).remove(&id);
                    if let Some(Open { _waited_for, _entered, .. }) = open {
                        drop(_entered);
                        outbox.send(Outbound::Answer(id, bytes)).await;
                    }
                }
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.from_client.recv().await
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        self.from_client.close();
        Ok(())
    }
}
