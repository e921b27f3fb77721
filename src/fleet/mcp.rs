//! One call of one tool of a device, in MCP 2026-07-28: without a session, so no state remains there.

use crate::{
    bridge::call::{Answered, NoAnswer, ToolCall},
    client::{Remote, root_cause, tls_fault},
};
use base::error::{ErrorCode, ToolError};
use serde_json::{Value, json};

/// Longest answer that is read, in bytes; real ones have a few thousand.
const LONGEST: usize = 1 << 20;

/// The answer of a tool.
pub struct Said {
    /// Its result, or why it refused.
    pub answer: Result<Value, ToolError>,
    pub simulated: bool,
}

/// Calls `tool` without arguments.
///
/// # Errors
/// If there is no MCP answer: `unavailable` if no server, another server, or one that is not ours answers;
/// `unauthenticated` or `resource_exhausted` if the token is refused.
pub async fn call(remote: &Remote, tool: &str) -> Result<Said, ToolError> {
    let call = ToolCall { client: "raspi-mcp fleet", tool, arguments: &json!({}), longest: LONGEST };
    let Answered { status, kind, mut message } = call.send(remote, None).await.map_err(|fault| match fault {
        NoAnswer::Http(error) => silent(&error),
        NoAnswer::TooLong => ToolError::unavailable(format!("its answer is longer than {LONGEST} bytes"))
            .hint("another server answers there: check the address"),
    })?;
    if let Some(error) = message.get("error").filter(|error| error.is_object()) {
        return Err(refused(status.as_u16(), error));
    }
    let result = &mut message["result"];
    let (simulated, is_error) = (result["_meta"]["simulated"] == true, result["isError"] == true);
    let data = if is_error { ToolError::in_result(result).clone() } else { result["structuredContent"].take() };
    if !data.is_object() {
        return Err(ToolError::unavailable(format!("it answered {status} with {kind}, and no MCP result")).hint(
            "is this the address of raspi-mcp's MCP, https://HOST:8765/mcp? Another server or a portal answers there",
        ));
    }
    let answer = if is_error { Err(error_of(&data, ErrorCode::Internal)) } else { Ok(data) };
    Ok(Said { answer, simulated })
}

/// Converts a JSON-RPC error.
fn refused(status: u16, error: &Value) -> ToolError {
    let code = match status {
        401 => ErrorCode::Unauthenticated,
        403 => ErrorCode::PermissionDenied,
        429 => ErrorCode::ResourceExhausted,
        _ => ErrorCode::Unavailable,
    };
    let mut told = error_of(&error["data"], code);
    if let Some(message) = error["message"].as_str() {
        told.message = message.to_owned();
    }
    if code == ErrorCode::Unauthenticated {
        told.code = code;
        told.hint = Some(
            "make a token on the device with `raspi-mcp token new --role read_only`, and name it in the inventory"
                .into(),
        );
    }
    told
}

/// The error described by an answer's data.
pub(super) fn error_of(data: &Value, otherwise: ErrorCode) -> ToolError {
    let code = data["error_code"].as_str().and_then(ErrorCode::from_symbol).unwrap_or(otherwise);
    let error = ToolError::new(code, data["message"].as_str().unwrap_or("it refused, and does not say why"));
    match data["hint"].as_str() {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// The error if there was no answer; the advice depends on the cause.
fn silent(error: &reqwest::Error) -> ToolError {
    let why = root_cause(error);
    match tls_fault(error) {
        Some(rustls::Error::General(_)) => {
            ToolError::new(ErrorCode::VerificationFailed, format!("it has another certificate: {why}")).hint(
                "compare with `raspi-mcp tls show` on the device; if that is new, write it into the inventory as pin, else somebody is in between",
            )
        }
        Some(rustls::Error::InvalidCertificate(_)) => {
            ToolError::new(ErrorCode::VerificationFailed, format!("nobody trusted vouches for its certificate: {why}")).hint(
                "write its fingerprint (`raspi-mcp tls show` on the device) into the inventory as pin, or its authority as ca_file",
            )
        }
        Some(_) => ToolError::unavailable(format!("it does not speak TLS: {why}"))
            .hint("switch on tls.enabled on the device; another server may have its port"),
        None => ToolError::unavailable(format!("no answer: {why}"))
            .hint("is it on and in the network, and is the address right? On the device: raspi-mcp doctor"),
    }
}
