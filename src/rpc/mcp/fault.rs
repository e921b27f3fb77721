//! JSON-RPC errors of requests that rmcp serves, with `error.data` as in docs/contract/errors.md.

use crate::rpc::envelope::fault_data;
use rmcp::{
    ErrorData,
    model::{ConstString, ErrorCode},
};
use serde_json::Map;

/// An error outside a tool's result.
pub fn fault(code: ErrorCode, message: impl Into<String>) -> ErrorData {
    let mut error = ErrorData::new(code, message.into(), None);
    complete(&mut error);
    error
}

/// The error for a method of MCP that this server does not offer.
pub fn not_offered<M: ConstString>() -> ErrorData {
    fault(ErrorCode::METHOD_NOT_FOUND, why_not_offered(M::VALUE))
}

/// The message for such a method.
pub fn why_not_offered(method: &str) -> String {
    format!("Method not found: {method}; this server does not offer it, as its capabilities say")
}

/// Adds `data` to an error made by rmcp.
pub fn complete(error: &mut ErrorData) {
    if error.data.is_none() {
        error.data = Some(fault_data(error.code.0, &error.message, &Map::new()));
    }
}
