//! Pagination of long lists: two parameters, and one object in the answer (docs/contract/README.md).

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Most items on one page.
pub const LARGEST: u32 = 1000;

/// `limit`: 1-1000 items, default 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u32")]
pub struct PageLimit(u32);

/// `offset`: items to skip, default 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Offset(u32);

impl PageLimit {
    pub fn get(self) -> usize {
        self.0 as usize
    }
}
impl Offset {
    pub fn get(self) -> usize {
        self.0 as usize
    }
}
impl Default for PageLimit {
    fn default() -> Self {
        Self(100)
    }
}
impl TryFrom<u32> for PageLimit {
    type Error = String;
    fn try_from(limit: u32) -> Result<Self, String> {
        if (1..=LARGEST).contains(&limit) {
            Ok(Self(limit))
        } else {
            Err(format!("limit {limit} is outside 1..={LARGEST}"))
        }
    }
}

impl JsonSchema for PageLimit {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Limit".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": LARGEST, "default": 100, "description": "Page size." })
    }
}
impl JsonSchema for Offset {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Offset".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0, "maximum": u32::MAX, "default": 0, "description": "Items to skip." })
    }
}

/// Where a page stands in its list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Pagination {
    pub limit: usize,
    pub offset: usize,
    pub returned_count: usize,
    pub total_count: usize,
    pub has_more: bool,
    /// `offset` of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
}

impl Pagination {
    /// The requested page of a complete list.
    pub fn of<T>(all: Vec<T>, limit: PageLimit, offset: Offset) -> (Vec<T>, Self) {
        let total = all.len();
        let page: Vec<T> = all.into_iter().skip(offset.get()).take(limit.get()).collect();
        let pagination = Self::at(limit, offset, page.len(), total);
        (page, pagination)
    }

    /// The position of a page that was already cut.
    pub fn at(limit: PageLimit, offset: Offset, returned: usize, total: usize) -> Self {
        let end = offset.get() + returned;
        let has_more = end < total;
        Self {
            limit: limit.get(),
            offset: offset.get(),
            returned_count: returned,
            total_count: total,
            has_more,
            next_offset: has_more.then_some(end),
        }
    }
}
