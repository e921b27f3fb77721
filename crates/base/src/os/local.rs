//! One request to a server over its unix socket, one answer: JSON, one message per line.

use super::doors;
use crate::error::ToolError;
use serde_json::Value;
use std::{io, path::Path, time::Duration};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

/// Longer than any tool may run, including its approval.
pub const PATIENCE: Duration = Duration::from_secs(600);
/// The server's own limit in bytes, plus room for the envelope.
const LONGEST: u64 = 70 * 1024 * 1024;
/// The door of the server's socket: root's, by which the agent asks after the server's health as well. Admins have none:
/// giving one to their group takes system calls that the server's unit shuts off.
pub const DOORS: [&str; 1] = ["root"];

/// What `whose` socket at `path` says when its queue was full for so long ([`doors::connect`]).
pub fn crowded(whose: &str, path: &Path, error: &io::Error) -> ToolError {
    let shown = path.display();
    ToolError::unavailable(format!("{whose} runs and could not be reached on {shown}: {error}"))
        .with("path", shown.to_string())
        .hint(format!(
            "a program of this machine connects to it without end: `ss -xp | grep {shown}` shows connections. Try again; \
             root has a socket of its own, which others cannot fill"
        ))
}

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
    let offline = |error: io::Error| {
        ToolError::unavailable(format!("no server answers on {shown}: {error}"))
            .hint("start one with `raspi-mcp serve`, or name another with --url or --socket")
    };
    let stream = doors::connect(path, &DOORS, doors::PATIENCE).await.map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => crowded("the server", path, &error),
        _ => offline(error),
    })?;
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
