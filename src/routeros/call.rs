//! One call of a tool for routers, as the process that does it gets it.

use super::{
    rows::{KeptRows, TooMuch},
    table::RouterTool,
};
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
        self.page_of(name, all.into_iter().skip(offset).take(limit).collect(), total)
    }

    /// The page that was made of `total` items.
    pub fn page_of(&self, name: &str, page: Vec<Value>, total: usize) -> Map<String, Value> {
        shown(name, page, self.number("limit"), self.number("offset"), total)
    }

    /// The page that `limit` and `offset` say, of rows that come one after another.
    pub fn page_of_rows(&self) -> PageOfRows {
        PageOfRows { limit: self.number("limit"), offset: self.number("offset"), total: 0, kept: KeptRows::default() }
    }
}

/// A page of rows that come one after another: those before and behind it are counted, and not kept.
pub struct PageOfRows {
    limit: usize,
    offset: usize,
    total: usize,
    kept: KeptRows,
}

impl PageOfRows {
    /// The next row, which `make` makes if it is on the page.
    ///
    /// # Errors
    /// For more than is kept.
    pub fn push(&mut self, make: impl FnOnce() -> Value) -> Result<(), TooMuch> {
        self.total += 1;
        if self.total <= self.offset || self.kept.len() >= self.limit {
            return Ok(());
        }
        self.kept.push(make())
    }

    /// How many rows came.
    pub fn total(&self) -> usize {
        self.total
    }

    /// The page under `name`, with `total_count` and `pagination`.
    pub fn shown(self, name: &str) -> Map<String, Value> {
        shown(name, self.kept.into_rows(), self.limit, self.offset, self.total)
    }
}

fn shown(name: &str, page: Vec<Value>, limit: usize, offset: usize, total: usize) -> Map<String, Value> {
    let (returned, end) = (page.len(), offset.saturating_add(page.len()));
    let mut pagination = json!({
        "limit": limit, "offset": offset, "returned_count": returned, "total_count": total, "has_more": end < total,
    });
    if end < total {
        pagination["next_offset"] = end.into();
    }
    Map::from_iter([
        (name.to_owned(), page.into()),
        ("total_count".to_owned(), total.into()),
        ("pagination".to_owned(), pagination),
    ])
}
