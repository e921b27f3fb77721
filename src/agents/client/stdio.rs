//! The client's side of MCP, as far as an agent's tools need it: initialize, tools/list, tools/call, cancelled. Whatever
//! else the other side asks for is refused, and what else it says is dropped.

use super::{
    Answer, LONGEST, gone,
    message::{Message, MessageReader, parsed},
};
use base::{
    error::{ErrorCode, ToolError},
    redact::redact_text,
    speech::quoted,
};
use serde_json::{Value, json, value::RawValue};
use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::AsyncWriteExt,
    net::unix::{OwnedReadHalf, OwnedWriteHalf},
    sync::oneshot,
};

/// Maximum pages of a list of tools, and bytes of all of them and of any other answer that is not a tool's.
const PAGES: usize = 16;
const LIST: usize = 1 << 20;
/// Maximum bytes of a message while no answer is waited for.
const UNASKED: usize = 128 << 10;
/// Maximum lines in a row that are no messages.
const NON_MESSAGES: usize = 1000;
/// How long an agent may take to read what is written to it.
const UNREAD: Duration = Duration::from_secs(10);

/// Somebody who waits for an answer.
struct Waits {
    send: oneshot::Sender<Result<Value, ToolError>>,
    /// Maximum bytes of the answer.
    longest: usize,
}

/// A conversation with an MCP server.
pub struct McpServer {
    name: String,
    writer: tokio::sync::Mutex<OwnedWriteHalf>,
    /// `None` once the conversation is over.
    waiting: Mutex<Option<HashMap<u64, Waits>>>,
    next: AtomicU64,
    /// The last line that was no message.
    non_message_line: Mutex<Option<String>>,
}

impl McpServer {
    pub fn new(name: &str, writer: OwnedWriteHalf) -> Self {
        Self {
            name: name.to_owned(),
            writer: tokio::sync::Mutex::new(writer),
            waiting: Mutex::new(Some(HashMap::new())),
            next: AtomicU64::new(1),
            non_message_line: Mutex::default(),
        }
    }

    /// The last line that was no message: a program that writes its log where messages are expected.
    pub fn non_message_line(&self) -> Option<String> {
        self.non_message_line.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn write(&self, message: &Value) -> Result<(), ToolError> {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        let mut writer = self.writer.lock().await;
        match tokio::time::timeout(UNREAD, writer.write_all(&line)).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(gone(&self.name)),
        }
    }

    /// Begins a request: its number, and where its answer arrives.
    async fn begin(
        &self,
        method: &str,
        params: Value,
        longest: usize,
    ) -> Result<(u64, oneshot::Receiver<Result<Value, ToolError>>), ToolError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (send, answer) = oneshot::channel();
        match &mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(waiting) => waiting.insert(id, Waits { send, longest }),
            None => return Err(gone(&self.name)),
        };
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
        Ok((id, answer))
    }

    async fn request(&self, method: &str, params: Value) -> Result<Value, ToolError> {
        let (_, answer) = self.begin(method, params, LIST).await?;
        answer.await.unwrap_or_else(|_| Err(gone(&self.name)))
    }

    async fn notify(&self, method: &str, params: Value) -> Result<(), ToolError> {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await
    }

    pub async fn greet(&self) -> Result<(), ToolError> {
        let client = json!({ "name": "raspi-mcp", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        self.request("initialize", params).await?;
        self.notify("notifications/initialized", json!({})).await
    }

    /// All tools, as it describes them.
    pub async fn list(&self) -> Result<Vec<Value>, ToolError> {
        let (mut found, mut params, mut bytes) = (Vec::new(), json!({}), 0);
        for _ in 0..PAGES {
            let mut page = self.request("tools/list", params).await?;
            bytes += page.to_string().len();
            if bytes > LIST {
                return Err(ToolError::new(
                    ErrorCode::ContentTooLarge,
                    format!("{} describes its tools in more than 1 MiB", self.name),
                )
                .with("limit_bytes", LIST));
            }
            if let Some(Value::Array(tools)) = page.get_mut("tools").map(Value::take) {
                found.extend(tools);
            }
            match &page["nextCursor"] {
                Value::String(cursor) => params = json!({ "cursor": cursor }),
                _ => break,
            }
        }
        Ok(found)
    }

    /// Begins a call: its number, and its answer.
    pub async fn call(&self, tool: &str, args: Value) -> Result<(u64, Answer), ToolError> {
        let (id, answer) = self.begin("tools/call", json!({ "name": tool, "arguments": args }), LONGEST).await?;
        let name = self.name.clone();
        Ok((id, Box::pin(async move { answer.await.unwrap_or_else(|_| Err(gone(&name))) })))
    }

    pub async fn cancel(&self, id: u64) -> Result<(), ToolError> {
        self.notify("notifications/cancelled", json!({ "requestId": id, "reason": "cancelled" })).await
    }

    /// An answer to this request will be dropped.
    pub fn forget(&self, id: u64) {
        if let Some(waiting) = &mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) {
            waiting.remove(&id);
        }
    }

    /// Returns once it has answered, with a result or an error, or is gone.
    pub async fn ping(&self) {
        let _ = self.request("ping", json!({})).await;
    }

    /// Hears the agent until it closes or breaks the protocol; `changed` is called when its list of tools has changed.
    /// Returns what was wrong, if anything.
    pub async fn hear(&self, reader: OwnedReadHalf, changed: impl Fn()) -> Option<String> {
        let (mut reader, mut non_messages) = (MessageReader::new(reader, LONGEST), 0);
        loop {
            let line = match reader.next(|| self.wanted()).await {
                Ok(Some(line)) => line,
                Ok(None) => return None,
                Err(why) => return Some(why),
            };
            let message: Message<'_> = match serde_json::from_slice(line) {
                Ok(message) => message,
                Err(_) => {
                    non_messages += 1;
                    self.note_non_message(line, non_messages == 1);
                    if non_messages > NON_MESSAGES {
                        return Some(format!("it wrote {NON_MESSAGES} lines that are no JSON-RPC messages"));
                    }
                    continue;
                }
            };
            non_messages = 0;
            match (message.method.as_deref(), message.id) {
                (Some("notifications/tools/list_changed"), None) => changed(),
                (Some(_), None) => {}
                (Some(method), Some(id)) => {
                    let answer = match method {
                        "ping" => json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
                        _ => {
                            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "not offered" } })
                        }
                    };
                    if self.write(&answer).await.is_err() {
                        return None;
                    }
                }
                (None, _) => self.dispatch(message.number(), message.result, message.error),
            }
        }
    }

    /// A line that is no message is dropped, as other clients of MCP do: what programs start writes there too.
    fn note_non_message(&self, line: &[u8], is_first: bool) {
        let text: String = String::from_utf8_lossy(line).chars().take(200).collect();
        let text = redact_text(&text);
        if is_first {
            tracing::warn!(target: "raspi_mcp::agents", agent = self.name, line = %text, "it writes lines that are no messages to standard output");
        }
        *self.non_message_line.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }

    /// Bytes that the next message may have to be looked at: as much as the answer may have that is waited for.
    fn wanted(&self) -> usize {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.iter().flat_map(HashMap::values).map(|waits| waits.longest).max().unwrap_or(UNASKED)
    }

    fn dispatch(&self, id: Option<u64>, result: Option<&RawValue>, error: Option<&RawValue>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        // An answer to nothing is dropped, and not parsed: its call was cancelled.
        let Some(waits) = id.and_then(|id| waiting.as_mut()?.remove(&id)) else { return };
        drop(waiting);
        let result = match (result, error) {
            (Some(result), _) => parsed(&self.name, result),
            (None, Some(error)) => parsed(&self.name, error).and_then(|error| Err(self.refused(&error))),
            (None, None) => {
                Err(ToolError::unavailable(format!("the agent {} answered with neither result nor error", self.name)))
            }
        };
        let _ = waits.send.send(result);
    }

    fn refused(&self, error: &Value) -> ToolError {
        let text = quoted(error["message"].as_str().unwrap_or("no reason"));
        let code = if error["code"] == -32602 { ErrorCode::InvalidArgument } else { ErrorCode::Unavailable };
        ToolError::new(code, format!("the agent {} refuses the call; it says: {text}", self.name))
            .with("agent", self.name.as_str())
    }

    /// Ends the conversation: every call that waits fails.
    pub fn close(&self) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
