//! A minimal client: one request, one answer. For `raspi-mcp call`.

mod approvals;
mod remote;

pub use approvals::{Approvals, OpenedAsk};
pub use remote::{Remote, TOKEN_VARIABLE, Trust, admits, checked, encrypted, root_cause, tls_fault};

use base::error::{ErrorCode, ToolError};
use serde_json::Value;

pub use base::os::local::PATIENCE;

/// Sends a request to a server over HTTP.
///
/// # Errors
/// `unavailable` if there is no answer, `unauthenticated` for an invalid token.
pub async fn http(remote: &Remote, request: &Value) -> Result<Value, ToolError> {
    let mut post = remote.client.post(remote.url.clone()).timeout(PATIENCE).json(request);
    if let Some(token) = remote.token() {
        post = post.bearer_auth(token);
    }
    let response = post.send().await.map_err(|error| remote.offline(&error))?;
    let status = response.status();
    let answer: Value = response.json().await.map_err(|_| {
        ToolError::unavailable(format!("{} answered {status} and no JSON", remote.url))
            .hint("is this the address of a raspi-mcp server? Does it speak TLS (https://)?")
    })?;
    if matches!(status.as_u16(), 401 | 429) {
        let message = answer["error"]["message"].as_str().unwrap_or("the token is not accepted");
        return Err(ToolError::new(ErrorCode::Unauthenticated, message));
    }
    Ok(answer)
}
