//! The mark of a row while its change is not confirmed: a comment that no other row has. The way back finds a row by it alone, so it finds
//! the right one whatever the router made of the values, whatever other rows hold, and whatever ids rows have after a restart.
//!
//! A row gets its mark with the request that changes it, and its comment back when the change was confirmed or taken back.

use super::change::{Action, Change, Fields};
use serde_json::Value;

/// The comment of the row of change number `at` of a plan.
pub fn mark(plan: &str, at: usize) -> String {
    format!("raspi-mcp-{plan}-{at}")
}

/// Whether a change has a row that can be marked: a singleton is the only one of its menu.
pub(super) fn has_row(change: &Change) -> bool {
    !change.select.is_empty()
}

/// Whether a row has the mark of some plan.
pub(super) fn is_unfinished(row: &Value) -> bool {
    row["comment"].as_str().is_some_and(|comment| comment.starts_with("raspi-mcp-plan-"))
}

/// The rows of a listing with that mark.
pub(super) fn marked<'a>(listing: &'a Value, mark: &str) -> Vec<&'a Value> {
    listing.as_array().into_iter().flatten().filter(|row| row["comment"] == mark).collect()
}

/// The comment that a row has when its change is confirmed. `before`: the row as it was.
pub(super) fn final_comment(change: &Change, before: Option<&Fields>) -> String {
    let given = match &change.action {
        Action::Add(..) | Action::Set(_) => change.after().get("comment").cloned(),
        Action::Remove => None,
    };
    // Of a changed row, the selector may name the comment that it keeps.
    given.or_else(|| before.and_then(|row| row.get("comment")).cloned()).unwrap_or_default()
}
