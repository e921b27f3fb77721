//! One write, and whether a menu has what it was to make of it.

use super::{
    super::client::RouterClient,
    base::placed,
    change::{Action, Change, Fields, fields, holds},
    mark::has_row,
    row::{has_no_switch, is_exactly, is_known_by_all, is_unset},
};
use base::error::{ErrorCode, ToolError};
use reqwest::Method;
use serde_json::{Map, Value, json};

/// Writes one change, and returns the id of a row that was added. `id`: of the row that is changed. `mark`: the comment that it has until the
/// change is confirmed.
///
/// # Errors
/// See [`RouterClient::write`]; `conflict` when the row that an added one stands before is gone.
pub async fn write_change(
    client: &RouterClient,
    change: &Change,
    id: &str,
    mark: Option<&str>,
) -> Result<Option<String>, ToolError> {
    let menu = &change.menu;
    let marked = |mut fields: Fields| {
        fields.extend(mark.filter(|_| has_row(change)).map(|mark| ("comment".to_owned(), mark.to_owned())));
        fields
    };
    match &change.action {
        Action::Add(_, before) => {
            let mut added = body(&marked(change.after()));
            if let Some(before) = before {
                let rows = client.rows(menu).await?;
                let rows: Vec<&Value> = rows.as_array().into_iter().flatten().collect();
                let place = placed(menu, &rows, before);
                let place = place.ok_or_else(|| {
                    ToolError::new(ErrorCode::Conflict, format!("the row of {menu} before which one is added is gone"))
                })?;
                added.insert("place-before".into(), place[".id"].clone());
            }
            let row = client.write(Method::PUT, menu, &added).await?;
            return Ok(row[".id"].as_str().map(str::to_owned));
        }
        Action::Set(fields) if !has_row(change) => {
            client.write(Method::POST, &format!("{menu}/set"), &body(fields)).await?;
        }
        Action::Set(fields) => {
            let (unset, fields): (Fields, Fields) =
                fields.clone().into_iter().partition(|(name, value)| is_unset(menu, name, value));
            // The mark comes first: what is unset without it is not taken back.
            let fields = marked(fields);
            if !fields.is_empty() {
                client.write(Method::PATCH, &format!("{menu}/{id}"), &body(&fields)).await?;
            }
            for name in unset.into_keys() {
                let which = [(".id".to_owned(), json!(id)), ("value-name".to_owned(), json!(name))];
                client.write(Method::POST, &format!("{menu}/unset"), &Map::from_iter(which)).await?;
            }
        }
        Action::Remove => {
            let off = if has_no_switch(menu) { Fields::new() } else { fields(&[("disabled", "yes")]) };
            client.write(Method::PATCH, &format!("{menu}/{id}"), &body(&marked(off))).await?;
        }
    }
    Ok(None)
}

pub(super) fn body(fields: &Fields) -> Map<String, Value> {
    fields.iter().map(|(name, value)| (name.clone(), json!(value))).collect()
}

/// Whether a menu has what a change was to make of it.
pub fn is_done(listing: &Value, change: &Change) -> bool {
    let mut wanted = change.after();
    if change.action == Action::Remove {
        wanted.insert("disabled".into(), "yes".into());
    }
    match listing {
        // What is removed is off, or gone.
        Value::Array(rows) if change.action == Action::Remove => {
            let left: Vec<&Value> = rows.iter().filter(|row| holds(row, &change.select)).collect();
            left.is_empty() || left.len() == 1 && !has_no_switch(&change.menu) && holds(left[0], &wanted)
        }
        // What is added is there once: twice, somebody else added the same.
        Value::Array(rows) if matches!(change.action, Action::Add(..)) => {
            let is_it = |row: &&Value| match is_known_by_all(&change.menu) {
                true => is_exactly(&change.menu, row, &wanted),
                false => holds(row, &wanted),
            };
            rows.iter().filter(is_it).count() == 1
        }
        Value::Array(rows) => rows.iter().any(|row| holds(row, &wanted)),
        single => holds(single, &wanted),
    }
}
