//! Pages of `tools/list`, joined from descriptors that were serialised once.

use super::{
    envelope::{Fault, INVALID_PARAMS, Id},
    params::ListParams,
};
use crate::registry::listing::Listed;
use serde::Serialize;
use serde_json::value::RawValue;

/// Tools in one page when the client does not say. Document 001, section 4.1, has 50; there are more by now, and a client that
/// says nothing may know nothing of pages (docs/decisions.md, 159).
const PAGE: usize = 100;
/// How long a modern client may keep the list: it changes with the configuration.
const TTL_MS: u64 = 60_000;

/// The result of `tools/list`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    tools: Vec<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    /// What is listed depends on the caller's role.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_scope: Option<&'static str>,
}

/// The page that `list` asks for.
///
/// # Errors
/// -32602 for a cursor that this server did not give out.
pub fn page<'a>(id: &Id, tools: &'a [Listed], list: &ListParams, modern: bool) -> Result<Page<'a>, Fault> {
    let filter = list.filter.clone().unwrap_or_default();
    let wanted: Vec<&Listed> = tools.iter().filter(|listed| filter.wants(listed)).collect();
    let start = match &list.cursor {
        None => 0,
        Some(cursor) => place(cursor).filter(|start| *start <= wanted.len()).ok_or_else(|| {
            Fault::new(Some(id.clone()), INVALID_PARAMS, "Invalid params: unknown cursor; start again without one")
        })?,
    };
    let end = wanted.len().min(start + list.limit.unwrap_or(PAGE));
    Ok(Page {
        result_type: modern.then_some("complete"),
        tools: wanted[start..end].iter().map(|listed| &*listed.json).collect(),
        next_cursor: (end < wanted.len()).then(|| format!("after-{end}")),
        ttl_ms: modern.then_some(TTL_MS),
        cache_scope: modern.then_some("private"),
    })
}

fn place(cursor: &str) -> Option<usize> {
    cursor.strip_prefix("after-")?.parse().ok()
}
