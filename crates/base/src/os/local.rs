//! One request to a server over its unix socket, one answer: JSON, one message per line.

use crate::error::ToolError;
use serde_json::Value;
use std::{path::Path, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
};

/// Longer than any tool may run, including its approval.
pub const PATIENCE: Duration = Duration::from_secs(600);
/// The server's own limit in bytes, plus room for the envelope.
const LONGEST: u64 = 70 * 1024 * 1024;

/// Sends a request to a server over its unix socket.
///
/// # Errors
/// `unavailable` when there is no answer.
pub async fn request(path: &Path, request: &Value) -> Result<Value, ToolError> {
    request_with(path, request, |_| {}).await
}

/// The same; `news` gets every message that comes before the answer, such as `notifications/progress`.
///
/// # Errors
/// `unavailable` when there is no answer.
pub async fn request_with(path: &Path, request: &Value, mut news: impl FnMut(&Value)) -> Result<Value, ToolError> {
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
            news(&message);
        }
        Err(ToolError::unavailable(format!("the server on {shown} hung up without an answer")))
    };
    tokio::time::timeout(PATIENCE, answer).await.unwrap_or_else(|_| Err(ToolError::timeout("the server", PATIENCE)))
}
