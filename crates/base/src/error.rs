//! All kinds of failure in one table: a code for programs, a sentence for people.
//!
//! docs/contract/errors.md shows this table: the symbolic code, the JSON-RPC code of a bare call, the code string, the
//! number of the slash dialect and the HTTP status used before dispatch.

mod wire;

pub use wire::WireError;

use crate::redact;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::{
    borrow::Cow,
    ops::{Deref, DerefMut},
};

macro_rules! error_table {
    ($($(#[$doc:meta])* $name:ident = $symbol:literal, $rpc:literal, $code:literal, $number:literal, $http:literal;)*) => {
        /// The class of a failed call. Stable: clients branch on it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode { $($(#[$doc])* $name,)* }

        impl ErrorCode {
            /// Every code, in the order of the table.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$name,)*];
            /// `error_code`: the symbolic name (docs/contract/errors.md).
            pub const fn symbol(self) -> &'static str { match self { $(Self::$name => $symbol,)* } }
            /// JSON-RPC `error.code` of a bare method call.
            pub const fn rpc(self) -> i32 { match self { $(Self::$name => $rpc,)* } }
            /// `code`: the constant (docs/contract/errors.md).
            pub const fn constant(self) -> &'static str { match self { $(Self::$name => $code,)* } }
            /// JSON-RPC `error.code` of the slash dialect (docs/contract/errors.md).
            pub const fn number(self) -> i32 { match self { $(Self::$name => $number,)* } }
            /// HTTP status of a refusal that happens before dispatch.
            pub const fn http(self) -> u16 { match self { $(Self::$name => $http,)* } }
        }
    };
}

error_table! {
    /// The arguments do not match the schema, or contradict each other.
    InvalidArgument = "invalid_argument", -32602, "INVALID_REQUEST", 1003, 400;
    /// The call has no valid credentials.
    Unauthenticated = "unauthenticated", -32002, "UNAUTHORIZED", 1002, 401;
    /// The caller is known and may not do this.
    PermissionDenied = "permission_denied", -32001, "FORBIDDEN", 1002, 403;
    /// The named thing does not exist.
    NotFound = "not_found", -32003, "NOT_FOUND", 1001, 404;
    /// The machine's state does not allow this; `hint` says how to change it.
    FailedPrecondition = "failed_precondition", -32004, "FAILED_PRECONDITION", 1003, 409;
    /// Changed by another party first (ETag, concurrent update).
    Conflict = "conflict", -32007, "CONFLICT", 1005, 409;
    /// A rate, queue, space or count limit was reached.
    ResourceExhausted = "resource_exhausted", -32005, "QUEUE_OVERLOADED", 1004, 429;
    /// The request or the answer is larger than the limit.
    ContentTooLarge = "content_too_large", -32008, "CONTENT_TOO_LARGE", 1007, 413;
    /// Something that this call depends on does not answer (agent, bus, service).
    Unavailable = "unavailable", -32006, "UNAVAILABLE", 1006, 503;
    /// This machine does not have it (no camera, no such bus).
    CapabilityMissing = "capability_missing", -32009, "CAPABILITY_MISSING", 1006, 501;
    /// The tool's time limit is over; `timeoutMs` gives it.
    Timeout = "timeout", -32010, "TOOL_TIMEOUT", -32603, 504;
    /// The caller cancelled the request.
    Cancelled = "cancelled", -32011, "CANCELLED", -32603, 499;
    /// A signature or hash does not match.
    VerificationFailed = "verification_failed", -32012, "DOWNLOAD_VERIFY_FAILED", 1003, 422;
    /// A bug in this program. The log has the cause under the call's id.
    Internal = "internal", -32099, "INTERNAL", -32603, 500;
}

impl Serialize for ErrorCode {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.symbol())
    }
}

impl ErrorCode {
    /// The code with the symbolic name `symbol`, if there is one.
    pub fn from_symbol(symbol: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.symbol() == symbol)
    }
}

/// The key of a failed `tools/call`'s error object in `_meta`. It is not in `structuredContent`: that must match the
/// tool's output schema, and clients that check it discarded the message.
pub const ERROR_META: &str = "io.raspi-mcp/error";

/// A failed call: what happened, where, and what to do next.
///
/// Its fields are boxed: every function that may fail returns it, so its size is part of most answers and moves.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}: {}", self.code.symbol(), self.message)]
pub struct ToolError(Box<ErrorFields>);

/// The fields of a [`ToolError`].
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorFields {
    pub code: ErrorCode,
    /// One sentence for people.
    pub message: String,
    /// For programs: names the parameter or resource.
    pub details: Map<String, Value>,
    /// What to do next.
    pub hint: Option<String>,
    /// Only with [`ErrorCode::Timeout`]: the tool's time limit in milliseconds.
    pub timeout_ms: Option<u64>,
    /// The number of the slash dialect, where it is not that of the code (docs/contract/errors.md).
    pub number: Option<i32>,
    /// The answer of MCP's `tools/call` in place of a result with `isError`.
    pub instead: Option<Instead>,
}

impl Deref for ToolError {
    type Target = ErrorFields;

    fn deref(&self) -> &ErrorFields {
        &self.0
    }
}

impl DerefMut for ToolError {
    fn deref_mut(&mut self) -> &mut ErrorFields {
        &mut self.0
    }
}

/// See [`ToolError::protocol`] and [`ToolError::or_input`].
#[derive(Clone, Debug, PartialEq)]
pub enum Instead {
    Protocol(ProtocolError),
    /// A complete result of 2026-07-28.
    Input(Value),
}

/// A JSON-RPC error that MCP prescribes.
#[derive(Clone, Debug, PartialEq)]
pub struct ProtocolError {
    pub code: i32,
    pub data: Value,
}

/// As it may be printed: without passwords of addresses.
fn shown(text: String) -> String {
    match redact::without_passwords(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(safe) => safe,
    }
}

impl ToolError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self(Box::new(ErrorFields {
            code,
            message: shown(message.into()),
            details: Map::new(),
            hint: None,
            timeout_ms: None,
            number: None,
            instead: None,
        }))
    }
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidArgument, message)
    }
    /// The error for a `parameter` that would have no effect, because of `why`. Accepting and ignoring one is forbidden
    /// (docs/contract/README.md).
    pub fn ignored(parameter: &str, why: &str) -> Self {
        Self::invalid(format!("{parameter} would be ignored: {why}"))
            .with("parameter", parameter)
            .with("path", format!("/{parameter}"))
            .hint(format!("leave {parameter} out, or give it its default"))
    }
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::PermissionDenied, message)
    }
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotFound, message)
    }
    pub fn precondition(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::FailedPrecondition, message)
    }
    pub fn exhausted(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::ResourceExhausted, message)
    }
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Unavailable, message)
    }
    pub fn missing(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::CapabilityMissing, message)
    }
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Internal, message)
    }
    /// The error of a tool that exceeded `limit`.
    pub fn timeout(tool: &str, limit: std::time::Duration) -> Self {
        let ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let mut error = Self::new(ErrorCode::Timeout, format!("{tool} did not finish within {ms} ms and was stopped"));
        error.timeout_ms = Some(ms);
        error.hint = Some("ask for less, or raise limits.request_timeout_seconds".into());
        error
    }
    pub fn cancelled(tool: &str) -> Self {
        Self::new(ErrorCode::Cancelled, format!("{tool} was cancelled by its caller"))
    }

    /// Marks an error after which it is unknown whether the operation was done, unless it is marked already.
    #[must_use]
    pub fn maybe_changed(mut self) -> Self {
        if matches!(self.code, ErrorCode::Unavailable | ErrorCode::Timeout | ErrorCode::Internal) {
            self.details.entry("changed").or_insert("unknown".into());
        }
        self
    }

    /// Whether something was changed, or may have been: `changed` in `details` is true or `"unknown"`.
    pub fn may_have_changed(&self) -> bool {
        self.details.get("changed").is_some_and(|changed| *changed != Value::Bool(false))
    }

    /// Its fields, for whoever needs to own one of them.
    pub fn into_fields(self) -> ErrorFields {
        *self.0
    }

    /// Its sentence for people.
    pub fn into_message(self) -> String {
        self.0.message
    }

    /// Changes the code.
    #[must_use]
    pub fn with_code(mut self, code: ErrorCode) -> Self {
        self.code = code;
        self
    }

    /// Changes the message.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Adds one field to `details`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        let value = match value.into() {
            Value::String(text) => Value::String(shown(text)),
            value => value,
        };
        self.details.insert(key.to_owned(), value);
        self
    }

    /// Adds one field to `details` if there is a value for it.
    #[must_use]
    pub fn with_some(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Makes `tools/call` answer with this JSON-RPC error rather than with a result that says `isError`: the request
    /// itself is at fault, in a way that MCP has a code for (such as -32021 for a capability that the client lacks).
    /// For interactive tools (`Meta::interactive` of the crate `contract`): rmcp sets the matching HTTP status.
    #[must_use]
    pub fn protocol(mut self, code: i32, data: impl Into<Value>) -> Self {
        self.instead = Some(Instead::Protocol(ProtocolError { code, data: data.into() }));
        self
    }
    /// Number and `data` of that JSON-RPC error. MCP defines `data` of its own errors; JSON-RPC's have the fields of
    /// docs/contract/errors.md as well.
    pub fn as_protocol(&self) -> Option<(i32, Value)> {
        let Some(Instead::Protocol(ProtocolError { code, data })) = &self.instead else { return None };
        let mut data = data.clone();
        if let (-32700..=-32600, Some(fields), Value::Object(more)) = (*code, data.as_object_mut(), self.data()) {
            for (name, value) in more {
                fields.entry(name).or_insert(value);
            }
        }
        Some((*code, data))
    }
    /// Answers clients of 2026-07-28 with this complete result, which asks for input, and other clients with the error.
    #[must_use]
    pub fn or_input(mut self, result: Value) -> Self {
        self.instead = Some(Instead::Input(result));
        self
    }
    /// That result.
    pub fn as_input(&self) -> Option<&Value> {
        match self.instead.as_ref()? {
            Instead::Input(result) => Some(result),
            Instead::Protocol(_) => None,
        }
    }
    /// Answers the slash dialect with this number in place of the code's.
    #[must_use]
    pub fn numbered(mut self, number: i32) -> Self {
        self.number = Some(number);
        self
    }
    /// The number of the slash dialect.
    pub fn slash_number(&self) -> i32 {
        self.number.unwrap_or(self.code.number())
    }
    /// Sets what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(shown(hint.into()));
        self
    }

    /// What happened and what to do next, in one text.
    pub fn advice(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}; {hint}", self.message),
            None => self.message.clone(),
        }
    }

    /// The object of a failed `tools/call`: `{message, code, error_code, details, hint?, timeoutMs?}`.
    pub fn payload(&self) -> Value {
        let mut body = json!({
            "message": self.message,
            "code": self.code.constant(),
            "error_code": self.code.symbol(),
            "details": self.details,
        });
        self.extend(&mut body);
        body
    }

    /// The result of a failed `tools/call`: its text, and the same object in `_meta`.
    pub fn result(&self) -> Value {
        let payload = self.payload();
        let text = payload.to_string();
        json!({ "content": [{ "type": "text", "text": text }], "isError": true, "_meta": { ERROR_META: payload } })
    }

    /// The error object of a failed `tools/call` result, of this server or an older one, which had it in
    /// `structuredContent`.
    pub fn in_result(result: &Value) -> &Value {
        let now = &result["_meta"][ERROR_META];
        if now.is_null() { &result["structuredContent"] } else { now }
    }

    /// `error.data` of a failed bare call: `{error_code, message, details, hint?, timeoutMs?}`.
    pub fn data(&self) -> Value {
        let mut body = json!({
            "error_code": self.code.symbol(),
            "message": self.message,
            "details": self.details,
        });
        self.extend(&mut body);
        body
    }

    fn extend(&self, body: &mut Value) {
        if let Some(hint) = &self.hint {
            body["hint"] = json!(hint);
        }
        if let Some(ms) = self.timeout_ms {
            body["timeoutMs"] = json!(ms);
        }
    }
}
