//! One call of one tool of a server, in MCP 2026-07-28: without a session, so no state remains there.

pub use super::events::LONGEST;

use super::events::Events;
use crate::{
    client::{MAY_HAVE_BEEN_DONE, PATIENCE, Remote},
    rpc::params::MODERN,
};
use base::error::{ErrorCode, ToolError};
use reqwest::{Response, StatusCode, header};
use serde_json::{Value, json};

/// The media type of an event stream.
const STREAM: &str = "text/event-stream";

/// What the server reports before its answer.
pub type News<'a> = &'a mut (dyn FnMut(&Value) + Send);

/// A call.
pub struct ToolCall<'a> {
    /// The name of this client.
    pub client: &'a str,
    pub tool: &'a str,
    pub arguments: &'a Value,
    /// Longest answer that is read, in bytes.
    pub longest: usize,
}

/// What came back.
pub struct Answered {
    pub status: StatusCode,
    /// The media type, shortened.
    pub kind: String,
    /// The whole JSON-RPC message; `Null` if the response has none.
    pub message: Value,
}

/// Why nothing came back.
pub enum NoAnswer {
    Http(reqwest::Error),
    TooLong,
}

impl From<reqwest::Error> for NoAnswer {
    fn from(error: reqwest::Error) -> Self {
        Self::Http(error)
    }
}

impl ToolCall<'_> {
    /// Sends it, and returns the whole JSON-RPC answer. `news` as in [`ToolCall::send`].
    ///
    /// # Errors
    /// `unavailable` if there is no answer, `unauthenticated` for an invalid token, `invalid_argument` for what cannot be
    /// the name of a tool.
    pub async fn answer(&self, remote: &Remote, news: Option<News<'_>>) -> Result<Value, ToolError> {
        // It is sent in a header too.
        if !self.tool.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ToolError::invalid(format!("there is no tool {}", self.tool))
                .hint("names have letters, digits, \".\", \"_\" and \"-\""));
        }
        let Answered { status, kind, message } = self.send(remote, news).await.map_err(|fault| match fault {
            NoAnswer::Http(error) => remote.failed(&error),
            NoAnswer::TooLong => ToolError::unavailable(format!("the answer is longer than {} bytes", self.longest)),
        })?;
        if status == StatusCode::UNAUTHORIZED {
            let why = message["error"]["message"].as_str().unwrap_or("the token is not accepted");
            return Err(ToolError::new(ErrorCode::Unauthenticated, why));
        }
        if message.is_null() && kind.starts_with(STREAM) {
            return Err(
                ToolError::unavailable(format!("{} ended before the answer came", remote.url)).hint(MAY_HAVE_BEEN_DONE)
            );
        }
        if !message.is_object() {
            return Err(ToolError::unavailable(format!("{} answered {status} with {kind}, and no MCP", remote.url))
                .hint("is this the address of a raspi-mcp server? Does it speak TLS (https://)?"));
        }
        Ok(message)
    }

    /// Sends it. With `news`, progress is requested; an endpoint that has no event streams (`/api/mcp`) brings none.
    ///
    /// # Errors
    /// If the connection fails or takes too long, or the answer is longer than `longest`.
    pub async fn send(&self, remote: &Remote, news: Option<News<'_>>) -> Result<Answered, NoAnswer> {
        let mut request = json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {
                "name": self.tool,
                "arguments": self.arguments,
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": MODERN,
                    "io.modelcontextprotocol/clientInfo": { "name": self.client, "version": env!("CARGO_PKG_VERSION") },
                    "io.modelcontextprotocol/clientCapabilities": {},
                },
            },
        });
        if news.is_some() {
            request["params"]["_meta"]["progressToken"] = 1.into();
        }
        let mut post = remote.client.post(remote.url.clone()).timeout(PATIENCE).json(&request);
        post = post.header(header::ACCEPT, "application/json, text/event-stream");
        for (name, value) in [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", self.tool)] {
            post = post.header(name, value);
        }
        if let Some(token) = remote.token() {
            post = post.bearer_auth(token);
        }
        let response = post.send().await?;
        let status = response.status();
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind: String = kind.unwrap_or("no type").chars().take(80).collect();
        let message = message(response, &kind, self.longest, news).await?;
        Ok(Answered { status, kind, message })
    }
}

/// The answer to the one request, from JSON or an event stream.
async fn message(
    mut response: Response,
    kind: &str,
    longest: usize,
    mut news: Option<News<'_>>,
) -> Result<Value, NoAnswer> {
    let mut events = kind.starts_with(STREAM).then(Events::default);
    let (mut body, mut length) = (Vec::new(), 0);
    while let Some(chunk) = response.chunk().await? {
        length += chunk.len();
        if length > longest {
            return Err(NoAnswer::TooLong);
        }
        let Some(events) = &mut events else {
            body.extend_from_slice(&chunk);
            continue;
        };
        for data in events.take(&chunk).unwrap_or_default() {
            let Ok(message) = serde_json::from_slice::<Value>(&data) else { continue };
            if message["id"] == 1 {
                return Ok(message);
            }
            if let Some(news) = &mut news {
                news(&message);
            }
        }
    }
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    Ok(if is_answer(&message) { message } else { Value::Null })
}

/// Whether it answers the one request. A server that could not read the request, or does not know the caller, names none.
fn is_answer(message: &Value) -> bool {
    message["id"] == 1 || (message["id"].is_null() && message.get("error").is_some())
}
