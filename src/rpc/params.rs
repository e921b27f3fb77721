//! The parameters that the router itself parses: `tools/call`, `tools/list`, cancellations and `_meta`.

use super::envelope::{INVALID_PARAMS, Id, RpcError};
use crate::registry::listing::ListingFilter;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use std::borrow::Cow;

/// The newest revision; the first without `initialize` and sessions.
pub const MODERN: &str = "2026-07-28";
/// The only revision with batches.
pub const BATCHING: &str = "2025-03-26";

/// The parts of a request's `_meta` that the router reads.
#[derive(Debug, Default, Deserialize)]
#[serde(expecting = "struct Meta")]
pub struct RequestMeta {
    #[serde(rename = "progressToken")]
    pub progress_token: Option<Value>,
    /// Echoed in the answer and written to the audit (docs/contract/README.md).
    pub correlation_id: Option<String>,
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    pub protocol_version: Option<String>,
    #[serde(rename = "io.modelcontextprotocol/clientInfo")]
    pub client_info: Option<ClientInfo>,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    pub client_capabilities: Option<Value>,
    /// The lowest severity of log messages that the client wants during this request (2026-07-28).
    #[serde(rename = "io.modelcontextprotocol/logLevel")]
    pub log_level: Option<Value>,
}

/// What a client reports about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ClientInfo {
    #[serde(default)]
    pub name: String,
}

/// Longest correlation id, in bytes: it is stored in every audit record.
const CORRELATION_LIMIT: usize = 128;

impl RequestMeta {
    /// Whether the client supports tasks, as this request declares (extension `io.modelcontextprotocol/tasks`).
    pub fn has_tasks(&self) -> bool {
        let declared = self.client_capabilities.as_ref();
        declared.is_some_and(|declared| declared["extensions"]["io.modelcontextprotocol/tasks"].is_object())
    }

    fn check(&self) -> Result<(), String> {
        match &self.progress_token {
            None | Some(Value::String(_) | Value::Number(_)) => {}
            Some(_) => return Err("_meta.progressToken must be a string or a number".into()),
        }
        match &self.correlation_id {
            Some(id) if id.len() > CORRELATION_LIMIT => {
                Err(format!("_meta.correlation_id has {} bytes, at most {CORRELATION_LIMIT} are allowed", id.len()))
            }
            _ => Ok(()),
        }
    }
}

/// Parses only `_meta`.
pub fn meta_of(params: Option<&RawValue>) -> Option<RequestMeta> {
    #[derive(Deserialize)]
    struct Any {
        #[serde(rename = "_meta")]
        meta: Option<RequestMeta>,
    }
    // Search for the key first: most messages have none, and parsing a large request twice is expensive.
    let raw = params.filter(|raw| raw.get().contains("\"_meta\""))?;
    serde_json::from_str::<Any>(raw.get()).ok()?.meta
}

/// The tool, its arguments and metadata, from either form of a call.
#[derive(Debug)]
pub struct CallParams<'a> {
    pub name: Cow<'a, str>,
    pub args: Value,
    pub meta: RequestMeta,
}

impl<'a> CallParams<'a> {
    /// From the parameters of `tools/call`.
    ///
    /// # Errors
    /// -32602 if `name` is missing or `arguments` is not an object.
    pub fn of_tools_call(id: &Id, params: Option<&'a RawValue>) -> Result<Self, RpcError> {
        #[derive(Deserialize)]
        struct Wire<'a> {
            #[serde(borrow)]
            name: Cow<'a, str>,
            #[serde(default)]
            arguments: Option<Value>,
            #[serde(rename = "_meta")]
            meta: Option<RequestMeta>,
        }
        let bad = |why: String| RpcError::new(Some(id.clone()), INVALID_PARAMS, format!("Invalid params: {why}"));
        let raw = params.ok_or_else(|| bad("tools/call needs {\"name\": …, \"arguments\": {…}}".into()))?;
        let wire: Wire<'_> = serde_json::from_str(raw.get()).map_err(|error| bad(error.to_string()))?;
        let args = match wire.arguments {
            None => Value::Object(Default::default()),
            Some(Value::Object(map)) => Value::Object(map),
            Some(_) => return Err(bad("\"arguments\" must be an object".into())),
        };
        let meta = wire.meta.unwrap_or_default();
        meta.check().map_err(bad)?;
        Ok(Self { name: wire.name, args, meta })
    }

    /// From a bare method: the parameters are the arguments, optionally with `_meta`.
    ///
    /// # Errors
    /// -32602 for an invalid `_meta`.
    pub fn of_bare(id: &Id, method: &'a str, params: Option<&RawValue>) -> Result<Self, RpcError> {
        let bad = |why: String| RpcError::new(Some(id.clone()), INVALID_PARAMS, format!("Invalid params: {why}"));
        let mut args = match params {
            None => Value::Object(Default::default()),
            Some(raw) => serde_json::from_str(raw.get()).map_err(|error| bad(error.to_string()))?,
        };
        let meta = match args.as_object_mut().and_then(|map| map.shift_remove("_meta")) {
            None => RequestMeta::default(),
            Some(meta) => serde_json::from_value(meta).map_err(|error| bad(format!("_meta: {error}")))?,
        };
        meta.check().map_err(bad)?;
        Ok(Self { name: Cow::Borrowed(method), args, meta })
    }
}

/// Parameters of `tools/list` (MCP's cursor; our limit and filter: docs/contract/README.md).
#[derive(Debug, Default, Deserialize)]
pub struct ListParams {
    pub cursor: Option<String>,
    pub limit: Option<usize>,
    pub filter: Option<ListingFilter>,
    #[serde(rename = "_meta")]
    pub meta: Option<RequestMeta>,
}

impl ListParams {
    /// # Errors
    /// -32602 for a wrong type, an unknown filter or a limit outside 1-200.
    pub fn parse(id: &Id, params: Option<&RawValue>) -> Result<Self, RpcError> {
        let bad = |why: String| RpcError::new(Some(id.clone()), INVALID_PARAMS, format!("Invalid params: {why}"));
        let Some(raw) = params else { return Ok(Self::default()) };
        let list: Self = serde_json::from_str(raw.get()).map_err(|error| bad(error.to_string()))?;
        match list.limit {
            Some(limit) if !(1..=200).contains(&limit) => Err(bad(format!("limit {limit} is outside 1..=200"))),
            _ => Ok(list),
        }
    }
}

/// The id in a cancellation: `requestId` in MCP, `id` in `$/cancelRequest`.
pub fn cancelled_id(params: Option<&RawValue>) -> Option<String> {
    #[derive(Deserialize)]
    struct Wire {
        #[serde(rename = "requestId", alias = "id")]
        id: Value,
    }
    match serde_json::from_str::<Wire>(params?.get()).ok()?.id {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// What `initialize` reports about the client.
#[derive(Debug, Deserialize)]
pub struct InitializeParams {
    #[serde(rename = "protocolVersion", default)]
    pub protocol_version: String,
    #[serde(rename = "clientInfo", default)]
    pub client_info: ClientInfo,
}

/// An `initialize` of a client of dbus-mcp with what MCP requires and it leaves out: the revision that all of them speak,
/// capabilities and a name. `None` for any other message, and if nothing is missing.
pub fn completed_initialize(method: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    if method != "initialize" {
        return None;
    }
    let mut message: Value = serde_json::from_slice(bytes).ok()?;
    let params = message.as_object_mut()?.entry("params").or_insert_with(|| json!({})).as_object_mut()?;
    let had = params.len();
    params.entry("protocolVersion").or_insert_with(|| json!("2024-11-05"));
    params.entry("capabilities").or_insert_with(|| json!({}));
    params.entry("clientInfo").or_insert_with(|| json!({ "name": "dbus-mcp", "version": "0" }));
    (params.len() > had).then(|| message.to_string().into_bytes())
}

impl InitializeParams {
    pub fn peek(params: Option<&RawValue>) -> Option<Self> {
        serde_json::from_str(params?.get()).ok()
    }
}
