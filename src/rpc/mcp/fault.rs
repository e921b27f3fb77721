//! JSON-RPC errors of what rmcp serves: each has `error.data` as docs/contract/errors.md says.

use crate::rpc::envelope::fault_data;
use rmcp::{
    ErrorData,
    model::{ConstString, ErrorCode},
};
use serde_json::Map;

/// An error that is no tool's.
pub fn fault(code: ErrorCode, message: impl Into<String>) -> ErrorData {
    let mut error = ErrorData::new(code, message.into(), None);
    complete(&mut error);
    error
}

/// For a method that is MCP's and that this server does not serve.
pub fn not_offered<M: ConstString>() -> ErrorData {
    fault(ErrorCode::METHOD_NOT_FOUND, why_not_offered(M::VALUE))
}

/// What is said of such a method.
pub fn why_not_offered(method: &str) -> String {
    format!("Method not found: {method}; this server does not offer it, as its capabilities say")
}

/// Gives an error of rmcp's own its `data`.
pub fn complete(error: &mut ErrorData) {
    if error.data.is_none() {
        error.data = Some(fault_data(error.code.0, &error.message, &Map::new()));
    }
}
