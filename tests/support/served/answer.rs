//! What came back, and what a test expects of it.

use super::Door;
use base::error::ERROR_META;
use serde_json::Value;

/// One message from the server, with the HTTP status it came under.
#[derive(Clone, Debug)]
pub struct Answer {
    pub door: Door,
    pub status: Option<u16>,
    pub message: Value,
}

impl Answer {
    /// The data of a successful `tools/call`.
    #[track_caller]
    pub fn ok(&self) -> &Value {
        let result = self.result();
        assert_eq!(result["isError"], false, "{self:#?}");
        &result["structuredContent"]
    }

    /// The `result` of any successful request.
    #[track_caller]
    pub fn result(&self) -> &Value {
        self.message.get("result").unwrap_or_else(|| panic!("no result: {self:#?}"))
    }

    /// `_meta` of a `tools/call`.
    #[track_caller]
    pub fn meta(&self) -> &Value {
        &self.result()["_meta"]
    }

    /// A `tools/call` that failed with this `error_code`; returns `{message, code, error_code, details, …}`.
    #[track_caller]
    pub fn failed(&self, error_code: &str) -> &Value {
        let result = self.result();
        assert_eq!(result["isError"], true, "{self:#?}");
        // It would have to fit the tool's output schema, and clients check that.
        assert!(result.get("structuredContent").is_none(), "{self:#?}");
        let error = &result["_meta"][ERROR_META];
        assert_eq!(error["error_code"], error_code, "{self:#?}");
        assert_eq!(error.to_string(), result["content"][0]["text"], "text and _meta are the same JSON");
        error
    }

    /// The error object of a `tools/call` that failed; null otherwise.
    #[track_caller]
    pub fn error(&self) -> &Value {
        &self.result()["_meta"][ERROR_META]
    }

    /// Whether a `tools/call` failed with this `error_code`.
    pub fn is_refusal(&self, error_code: &str) -> bool {
        let result = self.result();
        result["isError"] == true && result["_meta"][ERROR_META]["error_code"] == error_code
    }

    /// A `tools/call` whose argument at `path` was refused.
    #[track_caller]
    pub fn refused(&self, path: &str) -> &Value {
        let error = self.failed("invalid_argument");
        assert_eq!(error["details"]["path"], path, "{self:#?}");
        error
    }

    /// A JSON-RPC error with this number.
    #[track_caller]
    pub fn fault(&self, code: i32) -> &Value {
        assert_eq!(self.message["error"]["code"], code, "{self:#?}");
        assert!(self.message.get("result").is_none(), "{self:#?}");
        let error = &self.message["error"];
        // docs/contract/errors.md.
        if matches!(code, -32700 | -32602..=-32600) {
            let data = &error["data"];
            assert!(data["error_code"].is_string() && data["details"].is_object(), "{self:#?}");
            assert!(data["message"].as_str().is_some_and(|text| !text.is_empty()), "{self:#?}");
        }
        error
    }

    /// The id it answers.
    pub fn id(&self) -> &Value {
        &self.message["id"]
    }

    /// Over HTTP it must have come under `status`; other doors have none.
    #[track_caller]
    pub fn under(&self, status: u16) -> &Self {
        assert_eq!(self.status, self.door.is_http().then_some(status), "{self:#?}");
        self
    }
}
