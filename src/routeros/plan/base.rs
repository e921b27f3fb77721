//! What the changes stand on: the rows that they find, as they were when the plan was made.

use super::{
    super::client::RouterClient,
    change::{Action, Change, Fields, holds},
};
use base::{
    canonical,
    error::{ErrorCode, ToolError},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The rows before a plan, one for each change: its id and the fields that matter; `None` for a row that is to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    rows: Vec<Option<BaseRow>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BaseRow {
    pub id: String,
    /// The fields that the change touches, as they are.
    pub fields: Fields,
}

impl Base {
    /// Reads what `changes` stand on.
    ///
    /// # Errors
    /// `failed_precondition` when a row is there already, is not there, is there twice, or is the router's own.
    pub async fn read(client: &RouterClient, changes: &[Change]) -> Result<Self, ToolError> {
        changes.iter().try_for_each(Change::check)?;
        let menus = menus(client, changes).await?;
        let mut rows = Vec::new();
        for change in changes {
            rows.push(
                of(change, &menus[change.menu.as_str()])
                    .map_err(|error| error.with("device_id", client.device().id.as_str()))?,
            );
        }
        Ok(Self { rows })
    }

    /// Rows that were read before; their ids are not known.
    pub fn of(rows: impl IntoIterator<Item = Option<Fields>>) -> Self {
        let row = |fields: Option<Fields>| fields.map(|fields| BaseRow { id: String::new(), fields });
        Self { rows: rows.into_iter().map(row).collect() }
    }

    /// SHA-256, in hexadecimal: two bases with the same hash are the same.
    pub fn hash(&self) -> String {
        let rows: Vec<Value> =
            self.rows.iter().map(|row| row.as_ref().map_or(Value::Null, |row| json!(row.fields))).collect();
        canonical::sha256_hex(&json!(rows))
    }

    pub(super) fn row(&self, at: usize) -> Option<&BaseRow> {
        self.rows[at].as_ref()
    }
}

/// Reads the menus of the changes, each once.
pub(super) async fn menus<'a>(
    client: &RouterClient,
    changes: &'a [Change],
) -> Result<BTreeMap<&'a str, Value>, ToolError> {
    let mut menus = BTreeMap::new();
    for change in changes {
        if !menus.contains_key(change.menu.as_str()) {
            menus.insert(change.menu.as_str(), client.get(&change.menu).await?);
        }
    }
    Ok(menus)
}

fn of(change: &Change, listing: &Value) -> Result<Option<BaseRow>, ToolError> {
    let menu = &change.menu;
    let shown =
        |fields: &Fields| fields.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
    // A singleton is an object.
    let rows: Vec<&Value> = match listing {
        Value::Array(rows) => rows.iter().collect(),
        single => vec![single],
    };
    let found: Vec<&Value> = rows.iter().copied().filter(|row| holds(row, &change.select)).collect();
    let is_dynamic = |row: &Value| row["dynamic"] == "true";
    match (&change.action, &found[..]) {
        (Action::Add(..), [_, ..]) => {
            Err(ToolError::precondition(format!("{menu} has {} already", shown(&change.select))))
        }
        (Action::Add(_, Some(before)), []) if rows.iter().filter(|row| holds(row, before)).count() != 1 => {
            Err(ToolError::precondition(format!("{menu} does not have one row with {}", shown(before))))
        }
        (Action::Add(..), []) => Ok(None),
        (_, []) => Err(ToolError::not_found(format!("{menu} has no row with {}", shown(&change.select)))),
        (_, [row]) if is_dynamic(row) => Err(ToolError::precondition(format!(
            "{} of {menu} is the router's own: it cannot be changed",
            shown(&change.select)
        ))),
        (_, [row]) => {
            Ok(Some(BaseRow { id: row[".id"].as_str().unwrap_or_default().to_owned(), fields: touched(change, row) }))
        }
        (_, many) => Err(ToolError::new(
            ErrorCode::Conflict,
            format!("{menu} has {} rows with {}", many.len(), shown(&change.select)),
        )),
    }
}

fn touched(change: &Change, row: &Value) -> Fields {
    let after = change.after();
    let names = after.keys().map(String::as_str).chain(matches!(change.action, Action::Remove).then_some("disabled"));
    names.map(|name| (name.to_owned(), row[name].as_str().unwrap_or_default().to_owned())).collect()
}
