//! The JSON-RPC 2.0 envelope: parses a frame, or reports why it is invalid.
//!
//! Parameters stay raw here; the code that serves the method parses them once.

use super::reply;
use base::error::ErrorCode;
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use std::fmt;

/// Error codes of JSON-RPC (specification, section 5.1).
pub const PARSE_ERROR: i32 = -32700;
pub const INVALID_REQUEST: i32 = -32600;
pub const METHOD_NOT_FOUND: i32 = -32601;
pub const INVALID_PARAMS: i32 = -32602;
pub const INTERNAL_ERROR: i32 = -32603;

/// A request id: a string or an integer (MCP, "Requests"). Echoed unchanged; compared as a string, so that cancelling
/// `"7"` also reaches the request sent as `7` (docs/contract/README.md).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Id {
    Number(i64),
    Text(String),
}

impl Id {
    /// The canonical form, used as key.
    pub fn key(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
    fn parse(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        match text.as_bytes().first()? {
            b'"' => serde_json::from_str(text).ok().map(Self::Text),
            _ => text.parse().ok().map(Self::Number),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl serde::Serialize for Id {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

/// An invalid message, with the id for the answer if it could be read.
#[derive(Debug, PartialEq)]
pub struct RpcError {
    pub id: Option<Id>,
    pub code: i32,
    pub message: String,
    /// Machine-readable details. Boxed, because every result reserves the space.
    pub details: Box<Map<String, Value>>,
}

impl RpcError {
    pub fn new(id: Option<Id>, code: i32, message: impl Into<String>) -> Self {
        Self { id, code, message: message.into(), details: Box::default() }
    }
    /// Adds one field to `details`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }
    /// The answer as bytes.
    pub fn reply(&self) -> Vec<u8> {
        reply::error(self.id.as_ref(), self.code, &self.message, Some(&self.data()))
    }
    /// `error.data` (docs/contract/errors.md).
    fn data(&self) -> Value {
        fault_data(self.code, &self.message, &self.details)
    }
}

/// `error.data` of a JSON-RPC fault.
pub fn fault_data(code: i32, message: &str, details: &Map<String, Value>) -> Value {
    let symbol = match code {
        METHOD_NOT_FOUND => ErrorCode::NotFound,
        INTERNAL_ERROR => ErrorCode::Internal,
        _ if details.contains_key("unknown_tool") => ErrorCode::NotFound,
        _ => ErrorCode::InvalidArgument,
    };
    json!({ "error_code": symbol, "message": message, "details": details })
}

/// UTF-8's byte order mark.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The length of a byte order mark at the beginning, or 0. Windows PowerShell writes one before the first message of a pipe;
/// RFC 8259, section 8.1, lets a parser ignore it.
pub fn byte_order_mark(bytes: &[u8]) -> usize {
    if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 }
}

/// One well-formed message.
#[derive(Debug)]
pub enum Message<'a> {
    Request {
        id: Id,
        method: String,
        params: Option<&'a RawValue>,
    },
    Notification {
        method: String,
        params: Option<&'a RawValue>,
    },
    /// An answer to a request of the server.
    Response,
}

/// The contents of one frame.
#[derive(Debug)]
pub enum FrameContent<'a> {
    Single(Message<'a>),
    /// 2025-03-26 only: each element is a message of its own, valid or not.
    Batch(Vec<&'a RawValue>),
}

/// Most messages in one batch.
pub const BATCH_LIMIT: usize = 64;

/// Distinguishes null from absent, which `Option` would not.
#[derive(Debug, Default)]
struct Field<'a>(Option<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Field<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|raw| Self(Some(raw)))
    }
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow, default)]
    jsonrpc: Field<'a>,
    #[serde(borrow, default)]
    id: Field<'a>,
    #[serde(borrow, default)]
    method: Field<'a>,
    #[serde(borrow, default)]
    params: Field<'a>,
    #[serde(borrow, default)]
    result: Field<'a>,
    #[serde(borrow, default)]
    error: Field<'a>,
}

/// Parses one frame.
///
/// # Errors
/// -32700 for input that is not JSON (or not UTF-8), -32600 for JSON that is not a JSON-RPC message or is nested deeper
/// than `max_depth`, -32602 for positional parameters.
pub fn parse(bytes: &[u8], max_depth: usize) -> Result<FrameContent<'_>, RpcError> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(RpcError::new(None, PARSE_ERROR, "Parse error: not valid UTF-8"));
    };
    let text = text.trim_start_matches([' ', '\t', '\r', '\n']);
    let deep = depth(text) > max_depth;
    if text.starts_with('[') {
        if deep {
            return Err(too_deep(None, max_depth));
        }
        let items: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| not_json(&error))?;
        return match items.len() {
            0 => Err(RpcError::new(None, INVALID_REQUEST, "Invalid Request: an empty batch")),
            n if n > BATCH_LIMIT => Err(RpcError::new(
                None,
                INVALID_REQUEST,
                format!("Invalid Request: {n} messages in one batch, at most {BATCH_LIMIT}"),
            )),
            _ => Ok(FrameContent::Batch(items)),
        };
    }
    single(text, deep.then_some(max_depth)).map(FrameContent::Single)
}

/// Parses one element of a batch.
///
/// # Errors
/// As [`parse`].
pub fn parse_element(element: &RawValue) -> Result<Message<'_>, RpcError> {
    single(element.get(), None)
}

fn single(text: &str, too_deep_for: Option<usize>) -> Result<Message<'_>, RpcError> {
    let wire: Wire<'_> = match serde_json::from_str(text) {
        Ok(wire) => wire,
        Err(error) if error.is_data() => {
            // Not a JSON-RPC object. Check that the rest is valid JSON before reporting an invalid request.
            return Err(match serde_json::from_str::<&RawValue>(text) {
                Ok(_) => RpcError::new(None, INVALID_REQUEST, format!("Invalid Request: {error}")),
                Err(error) => not_json(&error),
            });
        }
        Err(error) => return Err(not_json(&error)),
    };
    let id = wire.id.0.and_then(Id::parse);
    let invalid = |what: &str| RpcError::new(id.clone(), INVALID_REQUEST, format!("Invalid Request: {what}"));
    if let Some(limit) = too_deep_for {
        return Err(too_deep(id, limit));
    }
    if wire.jsonrpc.0.map(RawValue::get) != Some("\"2.0\"") {
        return Err(invalid("\"jsonrpc\" must be \"2.0\""));
    }
    let Some(method) = wire.method.0 else {
        return match (wire.result.0, wire.error.0) {
            (Some(_), None) | (None, Some(_)) if wire.id.0.is_some() => Ok(Message::Response),
            _ => Err(invalid("neither a request nor a response: \"method\" is missing")),
        };
    };
    let Ok(method) = serde_json::from_str::<String>(method.get()) else {
        return Err(invalid("\"method\" must be a string"));
    };
    if wire.id.0.is_some() && id.is_none() {
        return Err(invalid("\"id\" must be a string or an integer"));
    }
    let params = match wire.params.0 {
        None => None,
        Some(raw) => match raw.get().as_bytes().first() {
            Some(b'{') => Some(raw),
            Some(b'n') => None,
            Some(b'[') => {
                return Err(RpcError::new(id, INVALID_PARAMS, "Invalid params: parameters go by name, in an object"));
            }
            _ => return Err(invalid("\"params\" must be an object")),
        },
    };
    Ok(match id {
        Some(id) => Message::Request { id, method, params },
        None => Message::Notification { method, params },
    })
}

fn not_json(error: &serde_json::Error) -> RpcError {
    RpcError::new(None, PARSE_ERROR, format!("Parse error: {error}"))
}

fn too_deep(id: Option<Id>, limit: usize) -> RpcError {
    RpcError::new(id, INVALID_REQUEST, format!("Invalid Request: nested deeper than {limit} levels"))
}

/// The maximum nesting of brackets outside strings. Iterative: hostile input must not exhaust the stack.
pub fn depth(text: &str) -> usize {
    let (mut level, mut deepest, mut quoted, mut escaped) = (0usize, 0usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                level += 1;
                deepest = deepest.max(level);
            }
            b'}' | b']' if !quoted => level = level.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> (i32, Option<Id>) {
        match parse(text.as_bytes(), 8) {
            Err(fault) => (fault.code, fault.id),
            Ok(content) => panic!("{text} passed as {content:?}"),
        }
    }

    #[test]
    fn faults_keep_json_rpcs_codes_and_the_id_when_it_can_be_read() {
        let one = Some(Id::Number(1));
        assert_eq!(fault("{"), (PARSE_ERROR, None));
        assert_eq!(fault("nonsense"), (PARSE_ERROR, None));
        assert_eq!(fault("17"), (INVALID_REQUEST, None));
        assert_eq!(fault("[]"), (INVALID_REQUEST, None));
        assert_eq!(fault(r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#), (INVALID_REQUEST, one.clone()));
        assert_eq!(fault(r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#), (INVALID_REQUEST, None));
        assert_eq!(fault(r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#), (INVALID_REQUEST, None));
        assert_eq!(fault(r#"{"jsonrpc":"2.0","id":1,"method":7}"#), (INVALID_REQUEST, one.clone()));
        assert_eq!(fault(r#"{"jsonrpc":"2.0","id":1}"#), (INVALID_REQUEST, one.clone()));
        assert_eq!(fault(r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}"#), (INVALID_PARAMS, one.clone()));
        assert_eq!(fault(r#"{"jsonrpc":"2.0","id":1,"method":"x","params":"s"}"#), (INVALID_REQUEST, one.clone()));
        assert_eq!(
            fault(r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":[[[[[[[[1]]]]]]]]}}"#),
            (INVALID_REQUEST, one)
        );
        assert_eq!(fault(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#), (INVALID_REQUEST, None));
        assert_eq!(fault("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"} trailing"), (PARSE_ERROR, None));
        assert_eq!(parse(b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\"}", 8).unwrap_err().code, PARSE_ERROR);
    }

    #[test]
    fn good_messages_pass() {
        let Ok(FrameContent::Single(Message::Request { id, method, params })) =
            parse(br#" {"jsonrpc":"2.0","id":"a","method":"gpio.read_pin","params":{"pin":4}}"#, 8)
        else {
            panic!("refused")
        };
        assert_eq!((id.key().as_str(), method.as_str(), params.unwrap().get()), ("a", "gpio.read_pin", r#"{"pin":4}"#));
        assert!(matches!(
            parse(br#"{"jsonrpc":"2.0","method":"n"}"#, 8),
            Ok(FrameContent::Single(Message::Notification { .. }))
        ));
        assert!(matches!(
            parse(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#, 8),
            Ok(FrameContent::Single(Message::Response))
        ));
        assert!(matches!(parse(br#"[{},1]"#, 8), Ok(FrameContent::Batch(items)) if items.len() == 2));
    }
}
