//! Pages of `tools/list`, joined from descriptors that are serialised once.

use super::{
    envelope::{INVALID_PARAMS, Id, RpcError},
    params::ListParams,
};
use crate::registry::listing::ListedTool;
use serde::Serialize;
use serde_json::value::RawValue;
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    ops::Range,
};

/// Tools per page if the client sets no limit. There are more than 50, and such a client may not support pagination
/// (decision 159).
const PAGE: usize = 100;
/// How long a modern client may cache the list, in milliseconds: it changes with the configuration.
const TTL_MS: u64 = 60_000;

/// The result of `tools/list`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolListPage<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    tools: Vec<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    /// The list depends on the caller's role.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_scope: Option<&'static str>,
}

/// The page that `list` requests.
///
/// # Errors
/// -32602 for a cursor that this server did not issue, or issued for another list.
pub fn page<'a>(
    id: &Id,
    tools: &'a [ListedTool],
    list: &ListParams,
    modern: bool,
) -> Result<ToolListPage<'a>, RpcError> {
    let filter = list.filter.clone().unwrap_or_default();
    let wanted: Vec<&ListedTool> = tools.iter().filter(|listed| filter.wants(listed)).collect();
    let bad = |why: &str| RpcError::new(Some(id.clone()), INVALID_PARAMS, format!("Invalid params: {why}"));
    let unknown = || bad("unknown cursor; start again without one");
    let after = match &list.cursor {
        None => None,
        Some(cursor) => {
            let (after, mark) = cursor.split_once('.').ok_or_else(unknown)?;
            if mark != fingerprint(&wanted) {
                return Err(bad("the list of tools has changed since this cursor was issued; start again without one"));
            }
            Some(after)
        }
    };
    let (range, next) = cut(wanted.len(), after, list.limit.unwrap_or(PAGE)).ok_or_else(unknown)?;
    let next_cursor = next.map(|next| format!("{next}.{}", fingerprint(&wanted)));
    Ok(ToolListPage {
        result_type: modern.then_some("complete"),
        tools: wanted[range].iter().map(|listed| &*listed.json).collect(),
        next_cursor,
        ttl_ms: modern.then_some(TTL_MS),
        cache_scope: modern.then_some("private"),
    })
}

/// Stands for a list in its cursors: a position means nothing in another list.
fn fingerprint(tools: &[&ListedTool]) -> String {
    let mut hasher = DefaultHasher::new();
    tools.iter().for_each(|listed| listed.name().hash(&mut hasher));
    format!("{:016x}", hasher.finish())
}

/// The range of a list of `len` items that `cursor` requests, at most `most` of them, and the cursor of the next range;
/// `None` for an invalid cursor. A cursor is a position in the list.
pub fn cut(len: usize, cursor: Option<&str>, most: usize) -> Option<(Range<usize>, Option<String>)> {
    let start = match cursor {
        None => 0,
        Some(cursor) => cursor.strip_prefix("after-")?.parse().ok().filter(|start| *start <= len)?,
    };
    let end = len.min(start + most);
    Some((start..end, (end < len).then(|| format!("after-{end}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_join_to_the_whole_list_and_other_cursors_are_none() {
        assert_eq!(cut(0, None, 2), Some((0..0, None)));
        assert_eq!(cut(2, None, 2), Some((0..2, None)), "exactly one page");
        assert_eq!(cut(5, None, 2), Some((0..2, Some("after-2".into()))));
        assert_eq!(cut(5, Some("after-2"), 2), Some((2..4, Some("after-4".into()))));
        assert_eq!(cut(5, Some("after-4"), 2), Some((4..5, None)));
        assert_eq!(cut(5, Some("after-5"), 2), Some((5..5, None)));
        for bad in ["after-6", "after--1", "after-", "before-2", "", "after-99999999999999999999999"] {
            assert_eq!(cut(5, Some(bad), 2), None, "{bad}");
        }
    }
}
