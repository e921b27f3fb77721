//! One call of a tool for routers, as the process that does it gets it.

use super::table::RouterTool;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Hears of progress: done, of how many, and a sentence.
pub type Report = Arc<dyn Fn(u64, u64, &str) + Send + Sync>;

/// A call.
#[derive(Clone)]
pub struct RouterCall {
    pub tool: &'static RouterTool,
    /// As they came. Once [`super::service::RouterService`] has checked them, with the defaults of those that are absent.
    pub args: Map<String, Value>,
    pub principal: String,
    /// The approval that lets it through, when policy asked for one.
    pub ask_id: Option<String>,
    /// The devices that the caller's credential is good for; `None`: all.
    pub device_scope: Option<Vec<String>>,
    pub progress: Report,
    pub cancel: CancellationToken,
}

impl RouterCall {
    /// A call of everybody's, without an approval and without listeners.
    pub fn new(tool: &'static RouterTool, args: Map<String, Value>, principal: impl Into<String>) -> Self {
        Self {
            tool,
            args,
            principal: principal.into(),
            ask_id: None,
            device_scope: None,
            progress: Arc::new(|_, _, _| {}),
            cancel: CancellationToken::new(),
        }
    }

    /// A text; empty if it is absent.
    pub fn text(&self, name: &str) -> &str {
        self.args.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A number; 0 if it is absent.
    pub fn number(&self, name: &str) -> usize {
        let number = self.args.get(name).and_then(Value::as_u64).unwrap_or_default();
        usize::try_from(number).unwrap_or(usize::MAX)
    }

    pub fn flag(&self, name: &str) -> bool {
        self.args.get(name) == Some(&Value::Bool(true))
    }

    /// A list of texts; empty if it is absent.
    pub fn texts(&self, name: &str) -> Vec<String> {
        let items = self.args.get(name).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
    }

    /// A page of `all` under `name`, as `limit` and `offset` say, with `total_count` and `pagination`.
    pub fn page(&self, name: &str, all: Vec<Value>) -> Map<String, Value> {
        let (limit, offset, total) = (self.number("limit"), self.number("offset"), all.len());
        let shown: Vec<Value> = all.into_iter().skip(offset).take(limit).collect();
        let (returned, end) = (shown.len(), offset.saturating_add(shown.len()));
        let mut pagination = json!({
            "limit": limit, "offset": offset, "returned_count": returned, "total_count": total, "has_more": end < total,
        });
        if end < total {
            pagination["next_offset"] = end.into();
        }
        Map::from_iter([
            (name.to_owned(), shown.into()),
            ("total_count".to_owned(), total.into()),
            ("pagination".to_owned(), pagination),
        ])
    }
}
