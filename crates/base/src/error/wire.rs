//! A failure as sent between the halves: code, sentence, details and hint, as JSON.

use super::{ErrorCode, ErrorFields, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A [`ToolError`] on the wire.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireError {
    pub code: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl From<ToolError> for WireError {
    fn from(error: ToolError) -> Self {
        let ErrorFields { code, message, details, hint, .. } = error.into_fields();
        Self { code: code.symbol().into(), message, details, hint }
    }
}

impl From<WireError> for ToolError {
    fn from(wire: WireError) -> Self {
        let mut error = ToolError::new(ErrorCode::from_symbol(&wire.code).unwrap_or(ErrorCode::Internal), wire.message);
        error.details = wire.details;
        error.hint = wire.hint;
        error
    }
}
