//! What the bridge needs from a message to forward it: its id, and the values that the headers of each era repeat.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use std::borrow::Cow;

/// A message from the client. Invalid ones are forwarded as they are: the server reports what is wrong.
#[derive(Debug, Default)]
pub struct ClientMessage {
    /// The id of a request; `None` for messages without an answer.
    pub id: Option<Box<RawValue>>,
    pub method: Option<String>,
    /// The resource that it names, if any.
    pub uri: Option<String>,
    /// Headers of the 2026-07-28 era; empty before it.
    pub headers: Vec<(&'static str, String)>,
}

#[derive(Deserialize)]
struct Shape<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uri: Option<Cow<'a, str>>,
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<String>,
}

impl ClientMessage {
    pub fn read(bytes: &[u8]) -> Self {
        let Ok(shape) = serde_json::from_slice::<Shape<'_>>(bytes) else { return Self::default() };
        let method = shape.method.map(Cow::into_owned);
        let params: Params<'_> =
            shape.params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default();
        let uri = params.uri.as_deref().map(str::to_owned);
        let mut headers = Vec::new();
        if let (Some(method), Some(version)) = (&method, params.meta.and_then(|meta| meta.version)) {
            headers.push(("mcp-protocol-version", version));
            headers.push(("mcp-method", method.clone()));
            let named = match method.as_str() {
                "tools/call" | "prompts/get" => params.name,
                "resources/read" => params.uri,
                _ => None,
            };
            headers.extend(named.map(|name| ("mcp-name", name.into_owned())));
        }
        let id = method.is_some().then(|| shape.id.map(RawValue::to_owned)).flatten();
        Self { id, method, uri, headers }
    }

    pub fn is(&self, method: &str) -> bool {
        self.method.as_deref() == Some(method)
    }
}

/// The answer if it belongs to `id`. An error without an id (refused unread) gets the id inserted.
pub fn answers(answer: &[u8], id: &RawValue) -> Option<Vec<u8>> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow, default)]
        id: Option<&'a RawValue>,
        method: Option<serde::de::IgnoredAny>,
        #[serde(borrow)]
        error: Option<&'a RawValue>,
    }
    let shape: Answer<'_> = serde_json::from_slice(answer).ok()?;
    if shape.method.is_some() {
        return None;
    }
    match (shape.id, shape.error) {
        (Some(found), _) if found.get() != "null" => is_same(found, id).then(|| answer.to_vec()),
        (_, Some(error)) => {
            Some(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{}}}", id.get(), error.get()).into_bytes())
        }
        _ => None,
    }
}

/// Whether two ids are one: a number as it is written, a text however it is.
fn is_same(one: &RawValue, other: &RawValue) -> bool {
    let text = |id: &RawValue| serde_json::from_str::<String>(id.get()).ok();
    one.get() == other.get() || text(one).is_some_and(|one| text(other) == Some(one))
}

/// The revision negotiated in the answer to `initialize`.
pub fn negotiated(answer: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    answer["result"]["protocolVersion"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_era_has_its_headers() {
        let old = ClientMessage::read(br#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x.y"}}"#);
        assert_eq!((old.id.unwrap().get(), old.headers), ("\"a\"", vec![]));
        let new = ClientMessage::read(
            br#"{"id":1,"method":"tools/call","params":{"name":"x.y","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
        );
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "x.y")];
        assert_eq!(new.headers, headers.map(|(name, value)| (name, value.to_owned())));
        assert!(ClientMessage::read(br#"{"id":1,"result":{}}"#).id.is_none(), "an answer is not answered");
        assert!(ClientMessage::read(b"rubbish").method.is_none());
    }

    #[test]
    fn an_answer_without_an_id_gets_that_of_its_request() {
        let id = RawValue::from_string("7".into()).unwrap();
        let put = |text: &str| answers(text.as_bytes(), &id).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(put(r#"{"id":7,"result":1}"#).unwrap(), r#"{"id":7,"result":1}"#);
        assert_eq!(put(r#"{"id":8,"result":1}"#), None);
        let text = RawValue::from_string(r#""\u00e4""#.into()).unwrap();
        assert!(answers(r#"{"id":"ä","result":1}"#.as_bytes(), &text).is_some(), "one text, written in two ways");
        let large = RawValue::from_string("9007199254740993".into()).unwrap();
        assert!(answers(br#"{"id":9007199254740992,"result":1}"#, &large).is_none(), "beyond 2^53");
        assert_eq!(put(r#"{"method":"notifications/progress"}"#), None);
        let fixed = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32002}}"#;
        assert_eq!(put(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32002}}"#).unwrap(), fixed);
    }
}
