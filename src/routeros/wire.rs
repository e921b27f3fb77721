//! What is said on the socket of the routers' process: one connection a call, JSON, a line each.
//!
//! The server writes one request; progress and one answer come back. When the server closes the connection, or writes
//! another line, the call is cancelled. There is no request that gives a password away or changes the configuration.

use super::{call::RouterCall, table};
use base::error::{ErrorCode, ToolError, WireError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Longest request, in bytes.
pub const MAX_REQUEST: u64 = 1 << 20;
/// Longest answer, in bytes.
pub const MAX_ANSWER: usize = 10 << 20;

/// What is asked for.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    Call(Request),
    /// What a person is asked about such a call; nothing is done.
    Subject(Request),
    /// To let this router take a harmless change back ([`super::plans::test`]).
    Test(String),
}

/// A call.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub tool: String,
    pub args: Map<String, Value>,
    pub principal: String,
    pub ask_id: Option<String>,
    pub device_scope: Option<Vec<String>>,
}

impl Request {
    pub fn of(call: &RouterCall) -> Self {
        Self {
            tool: call.tool.name.to_owned(),
            args: call.args.clone(),
            principal: call.principal.clone(),
            ask_id: call.ask_id.clone(),
            device_scope: call.device_scope.clone(),
        }
    }

    /// # Errors
    /// `not_found` for a tool that this version does not have.
    pub fn call(self) -> Result<RouterCall, ToolError> {
        let tool = table::find(&self.tool).ok_or_else(|| {
            ToolError::not_found(format!("raspi-mcp-routeros has no tool {}", self.tool))
                .hint("both processes come from one package: systemctl restart raspi-mcp-routeros raspi-mcp")
        })?;
        let mut call = RouterCall::new(tool, self.args, self.principal);
        (call.ask_id, call.device_scope) = (self.ask_id, self.device_scope);
        Ok(call)
    }
}

/// A line that says how far a call is.
pub fn progress(done: u64, total: u64, message: &str) -> Vec<u8> {
    line(&json!({ "progress": [done, total, message] }))
}

/// A value as a line.
pub fn line(value: &Value) -> Vec<u8> {
    let mut line = value.to_string();
    line.push('\n');
    line.into_bytes()
}

/// The line that ends a call, with its line feed.
pub fn answer(result: Result<Value, ToolError>) -> Vec<u8> {
    let ended = |result: Result<Value, ToolError>| {
        line(&match result {
            Ok(value) => json!({ "ok": value }),
            Err(error) => json!({ "error": WireError::from(error) }),
        })
    };
    let whole = ended(result);
    if whole.len() <= MAX_ANSWER {
        return whole;
    }
    ended(Err(ToolError::new(ErrorCode::ContentTooLarge, "the answer of the routers has more than 10 MiB")
        .with("limit_bytes", MAX_ANSWER)
        .hint("ask for less: a smaller limit, fewer routers or a filter")))
}

/// What a line of the routers' process says.
pub enum Said {
    Progress(u64, u64, String),
    Ended(Result<Value, ToolError>),
}

/// `None`: not of this protocol.
pub fn read(line: &[u8]) -> Option<Said> {
    let mut line: Value = serde_json::from_slice(line).ok()?;
    if let Some([done, total, message]) = line["progress"].as_array().map(Vec::as_slice) {
        return Some(Said::Progress(done.as_u64()?, total.as_u64()?, message.as_str()?.to_owned()));
    }
    if let Some(error) = line.get_mut("error") {
        let error: WireError = serde_json::from_value(error.take()).ok()?;
        return Some(Said::Ended(Err(error.into())));
    }
    line.get_mut("ok").map(|value| Said::Ended(Ok(value.take())))
}
