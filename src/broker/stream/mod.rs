//! Streams of the broker (JetStream), by plain requests to `$JS.API`: made and compared (`shape`), read by one consumer
//! (`reader`), and a bucket of keys with compare-and-set (`bucket`).
//!
//! For the owner's side: a device has no right to `$JS.API`. Answers of the broker are believed for what they are worth:
//! whether a message counts is decided by its signature.

mod bucket;
mod reader;
mod shape;

pub use bucket::KeptValue;
pub use reader::{StreamMessage, StreamReader};
pub use shape::{bucket_shape, log_shape, status_shape};

use super::{Broker, RequestFailure};
use base::error::{ErrorCode, ToolError};
use serde_json::Value;
use std::time::Duration;

/// Time for one answer of the broker: it may write a file meanwhile.
const ANSWER: Duration = Duration::from_secs(10);
/// JetStream's numbers for "there is none" (of a stream, of a message) and "another revision is the newest".
const NO_STREAM: u64 = 10059;
const NO_MESSAGE: u64 = 10037;
const OTHER_REVISION: u64 = 10071;

/// What JetStream refused, by its number; 0 without one.
struct Refusal {
    number: u64,
    error: ToolError,
}

impl Broker {
    /// One question to JetStream.
    async fn api(&self, verb: &str, body: &Value) -> Result<Value, Refusal> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.request(format!("$JS.API.{verb}"), body.into(), ANSWER).await;
        let answer =
            answer.map_err(|failure| unanswered(failure, verb)).map_err(|error| Refusal { number: 0, error })?;
        accepted(&answer.payload, verb)
    }
}

impl From<Refusal> for ToolError {
    fn from(refusal: Refusal) -> Self {
        refusal.error
    }
}

/// The answer, unless it is a refusal.
fn accepted(payload: &[u8], verb: &str) -> Result<Value, Refusal> {
    let answer: Value = serde_json::from_slice(payload).map_err(|error| Refusal {
        number: 0,
        error: ToolError::unavailable(format!("the broker's answer to {verb} is no JSON: {error}")),
    })?;
    if !answer["error"].is_object() {
        return Ok(answer);
    }
    let number = answer["error"]["err_code"].as_u64().unwrap_or_default();
    let why = answer["error"]["description"].as_str().unwrap_or("it does not say why");
    let error = match number {
        NO_STREAM => ToolError::precondition("the broker has no such stream of this fleet")
            .hint("`raspi-mcp fleet doctor --dir DIR` makes what is missing"),
        NO_MESSAGE => ToolError::not_found("there is nothing under this key"),
        OTHER_REVISION => ToolError::new(ErrorCode::Conflict, "somebody wrote this key meanwhile"),
        _ => ToolError::new(ErrorCode::FailedPrecondition, format!("the broker refuses {verb}: {why}")),
    };
    Err(Refusal { number, error })
}

fn unanswered(failure: RequestFailure, verb: &str) -> ToolError {
    match failure {
        RequestFailure::Nobody => ToolError::unavailable("the broker has no JetStream")
            .hint("its configuration needs a block jetstream {}, as `raspi-mcp fleet init` writes it"),
        RequestFailure::Timeout => ToolError::unavailable(format!("the broker does not answer {verb}")).hint(
            "a console may ask $JS.API, which this certificate may not: compare users.conf with `raspi-mcp fleet doctor`",
        ),
        RequestFailure::Broken(error) => error,
    }
}
