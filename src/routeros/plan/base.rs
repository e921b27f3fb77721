//! What the changes stand on: the rows that they find, as they were when the plan was made.

use super::{
    super::client::RouterClient,
    change::{Action, Change, Fields, holds},
    row::kept,
};
use base::{
    canonical,
    error::{ErrorCode, ToolError},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Menus by their paths, as they were read.
pub type Menus = BTreeMap<String, Value>;

/// The rows before a plan, one for each change; `None` for a row that is to be added.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Base {
    rows: Vec<Option<BaseRow>>,
}

/// A row as it was.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BaseRow {
    pub id: String,
    /// The fields that the change touches, as they are; of a row that is removed, all that it can be made of again.
    pub fields: Fields,
    /// Of a row that is removed: the id of the one behind it, since order matters in some menus.
    pub next: Option<String>,
}

impl Base {
    /// Reads what `changes` stand on.
    ///
    /// # Errors
    /// See [`Base::in_menus`], and those of the connection.
    pub async fn read(client: &RouterClient, changes: &[Change]) -> Result<Self, ToolError> {
        changes.iter().try_for_each(Change::check)?;
        Self::in_menus(&menus(client, changes).await?, changes)
            .map_err(|error| error.with("device_id", client.device().id.as_str()))
    }

    /// Finds in menus that were read what `changes` stand on.
    ///
    /// # Errors
    /// `failed_precondition` when a row is there already, is not there, is there twice, or is the router's own.
    pub fn in_menus(menus: &Menus, changes: &[Change]) -> Result<Self, ToolError> {
        changes.iter().try_for_each(Change::check)?;
        let rows = changes.iter().map(|change| of(change, menus.get(&change.menu).unwrap_or(&Value::Null)));
        Ok(Self { rows: rows.collect::<Result<_, _>>()? })
    }

    /// Rows that were read before; their ids are not known.
    pub fn of(rows: impl IntoIterator<Item = Option<Fields>>) -> Self {
        let row = |fields: Option<Fields>| fields.map(|fields| BaseRow { id: String::new(), fields, next: None });
        Self { rows: rows.into_iter().map(row).collect() }
    }

    /// SHA-256, in hexadecimal: two bases with the same hash are the same, whatever ids their rows have.
    pub fn hash(&self) -> String {
        let rows: Vec<Value> =
            self.rows.iter().map(|row| row.as_ref().map_or(Value::Null, |row| json!(row.fields))).collect();
        canonical::sha256_hex(&json!(rows))
    }

    pub fn row(&self, at: usize) -> Option<&BaseRow> {
        self.rows.get(at)?.as_ref()
    }
}

/// Reads the menus of the changes, each once.
pub(super) async fn menus(client: &RouterClient, changes: &[Change]) -> Result<Menus, ToolError> {
    let mut menus = Menus::new();
    for change in changes {
        if !menus.contains_key(&change.menu) {
            menus.insert(change.menu.clone(), client.get(&change.menu).await?);
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
    // Entries of an address list with a time are dynamic, and can be taken away.
    let is_dynamic = |row: &Value| row["dynamic"] == "true" && menu != "ip/firewall/address-list";
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
            let id = row[".id"].as_str().unwrap_or_default().to_owned();
            let is_here = |other: &&&Value| other[".id"] == row[".id"];
            let next = rows.iter().skip_while(|other| !is_here(other)).skip(1).find(|other| !is_dynamic(other));
            let next = next.filter(|_| change.action == Action::Remove).and_then(|row| row[".id"].as_str());
            Ok(Some(BaseRow { id, fields: touched(change, row), next: next.map(str::to_owned) }))
        }
        (_, many) => Err(ToolError::new(
            ErrorCode::Conflict,
            format!("{menu} has {} rows with {}", many.len(), shown(&change.select)),
        )
        .hint("name more of what the row holds, so that it is the only one")),
    }
}

fn touched(change: &Change, row: &Value) -> Fields {
    let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let mut fields: Fields = change.after().keys().map(|name| (name.clone(), text(name))).collect();
    if change.action == Action::Remove {
        fields.insert("disabled".into(), text("disabled"));
        fields.extend(kept(&change.menu, row));
    }
    fields
}
