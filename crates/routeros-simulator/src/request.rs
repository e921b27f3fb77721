//! A request of the REST API and its answer, apart from HTTP.

use serde_json::{Map, Value};

/// A request as it comes out of HTTP.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// `GET`, `PUT`, `PATCH`, `DELETE` or `POST`.
    pub method: String,
    /// Below `/rest/`, such as `ip/address/*1`.
    pub path: String,
    /// The part after `?`, decoded: filters and `.proplist`.
    pub query: Vec<(String, String)>,
    /// The JSON object of the body; empty without one.
    pub body: Map<String, Value>,
    /// Name and password, if they came.
    pub credentials: Option<(String, String)>,
}

/// The answer: its status, and JSON if it has any.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub status: u16,
    pub body: Option<Value>,
    /// Whether something was written.
    pub wrote: bool,
    /// A command without an end, such as `monitor-traffic` without `once`: RouterOS ends it after a minute.
    pub blocks: bool,
}

impl Answer {
    pub(crate) fn ok(body: Value) -> Self {
        Self { status: 200, body: Some(body), wrote: false, blocks: false }
    }

    pub(crate) fn bad(detail: &str) -> Self {
        Self::error(400, "Bad Request", Some(detail))
    }

    pub(crate) fn error(status: u16, message: &str, detail: Option<&str>) -> Self {
        let mut body = Map::new();
        if let Some(detail) = detail {
            body.insert("detail".into(), detail.into());
        }
        body.insert("error".into(), status.into());
        body.insert("message".into(), message.into());
        Self { status, body: Some(body.into()), wrote: false, blocks: false }
    }

    pub(crate) fn not_found() -> Self {
        Self::error(404, "Not Found", Some("no such item"))
    }
}
