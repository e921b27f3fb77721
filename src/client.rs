//! The smallest client: one request, one answer. For `raspi-mcp call`.

use crate::error::{ErrorCode, ToolError};
use serde_json::Value;
use std::{path::Path, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
};

/// Longer than any tool may run, with an approval before it.
const PATIENCE: Duration = Duration::from_secs(600);
/// The server's own limit, and some room for the envelope.
const LONGEST: u64 = 70 * 1024 * 1024;

/// Asks a server over its unix socket.
///
/// # Errors
/// `unavailable` when nobody answers there.
pub async fn unix(path: &Path, request: &Value) -> Result<Value, ToolError> {
    let shown = path.display();
    let offline = |error: std::io::Error| {
        ToolError::unavailable(format!("no server answers on {shown}: {error}"))
            .hint("start one with `raspi-mcp serve`, or name another with --url or --socket")
    };
    let stream = UnixStream::connect(path).await.map_err(offline)?;
    let (reader, mut writer) = stream.into_split();
    writer.write_all(format!("{request}\n").as_bytes()).await.map_err(offline)?;
    let mut lines = BufReader::new(reader.take(LONGEST)).lines();
    let answer = async {
        // Progress and other notifications may come first.
        while let Some(line) = lines.next_line().await.map_err(offline)? {
            let message: Value = serde_json::from_str(&line)
                .map_err(|error| ToolError::internal(format!("the server sent no JSON: {error}")))?;
            if message.get("id") == request.get("id") {
                return Ok(message);
            }
        }
        Err(ToolError::unavailable(format!("the server on {shown} hung up without an answer")))
    };
    tokio::time::timeout(PATIENCE, answer).await.unwrap_or_else(|_| Err(ToolError::timeout("the server", PATIENCE)))
}

/// Asks a server over HTTP. A URL without a path means `/api/mcp`.
///
/// # Errors
/// `unavailable` when nobody answers, `unauthenticated` for a token that is not accepted.
pub async fn http(url: &str, token: Option<&str>, request: &Value) -> Result<Value, ToolError> {
    // reqwest is built without a crypto library of its own: ring is the one there is.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut address: reqwest::Url = url.parse().map_err(|error| {
        ToolError::invalid(format!("--url {url}: {error}")).hint("write it like http://127.0.0.1:8765")
    })?;
    if address.path() == "/" {
        address.set_path("/api/mcp");
    }
    let offline = |error: reqwest::Error| {
        ToolError::unavailable(format!("no server answers at {url}: {}", root_cause(&error)))
            .hint("start one with `raspi-mcp serve`, or check the address")
    };
    let mut client = reqwest::Client::builder().timeout(PATIENCE);
    if address.scheme() == "http" {
        // A small image has no certificates at all, and a client that would look for them is not even made there.
        client = client.tls_certs_only([]);
    }
    let client = client.build().map_err(offline)?;
    let mut post = client.post(address).json(request);
    if let Some(token) = token {
        post = post.bearer_auth(token);
    }
    let response = post.send().await.map_err(offline)?;
    let status = response.status();
    let answer: Value = response.json().await.map_err(|_| {
        ToolError::unavailable(format!("{url} answered {status} and no JSON"))
            .hint("is this the address of a raspi-mcp server?")
    })?;
    if status == reqwest::StatusCode::UNAUTHORIZED {
        let message = answer["error"]["message"].as_str().unwrap_or("the token is not accepted");
        return Err(ToolError::new(ErrorCode::Unauthenticated, message));
    }
    Ok(answer)
}

fn root_cause(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), root_cause)
}
