//! What the changes stand on: the rows that they find, as they were when the plan was made.

use super::{
    super::client::RouterClient,
    change::{Action, Change, Fields, Selector, holds},
    mark::{has_row, is_unfinished},
    row::{is_duplicate, is_exactly, is_known_by_all, kept},
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
    /// Of a firewall rule that is removed: what the one behind it holds, since their order matters. Its id may be another row's later.
    #[serde(default)]
    pub following: Option<Fields>,
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
        let rows: Vec<Option<BaseRow>> = rows.collect::<Result<_, _>>()?;
        for (at, change) in changes.iter().enumerate() {
            let is_same = |other: usize| {
                let ids = [at, other].map(|at| rows[at].as_ref().map(|row| &row.id));
                changes[other].menu == change.menu && ids[0].is_some() && ids[0] == ids[1]
            };
            if (0..at).any(is_same) {
                return Err(ToolError::precondition(format!("two changes of one row of {}", change.menu))
                    .hint("make one plan after the other"));
            }
        }
        Ok(Self { rows })
    }

    /// Rows that were read before; their ids are not known.
    pub fn of(rows: impl IntoIterator<Item = Option<Fields>>) -> Self {
        let row = |fields: Option<Fields>| fields.map(|fields| BaseRow { id: String::new(), fields, following: None });
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
            menus.insert(change.menu.clone(), client.rows(&change.menu).await?);
        }
    }
    Ok(menus)
}

/// The row that a change finds in its menu, as it is; `None` for one that is to be added.
pub(super) fn of(change: &Change, listing: &Value) -> Result<Option<BaseRow>, ToolError> {
    let menu = &change.menu;
    let shown =
        |fields: &Fields| fields.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
    // A singleton is an object.
    let rows: Vec<&Value> = match listing {
        Value::Array(rows) => rows.iter().collect(),
        single => vec![single],
    };
    let is_added = matches!(change.action, Action::Add(..));
    let is_meant = |row: &&Value| match is_added && is_known_by_all(menu) {
        true => is_exactly(menu, row, &change.after()),
        false => holds(row, &change.select),
    };
    let found: Vec<&Value> = rows.iter().copied().filter(is_meant).collect();
    // Entries of an address list with a time are dynamic, and can be taken away.
    let is_dynamic = |row: &Value| row["dynamic"] == "true" && menu != "ip/firewall/address-list";
    match (&change.action, &found[..]) {
        (Action::Add(..), [_, ..]) => {
            let error = ToolError::precondition(format!("{menu} has {} already", shown(&change.select)));
            Err(if is_known_by_all(menu) {
                error.hint("it is at another place: move it at the router, or plan to remove it first")
            } else {
                error
            })
        }
        (Action::Add(_, Some(before)), []) if placed(menu, &rows, before).is_none() => {
            Err(ToolError::precondition(format!("{menu} does not have one row with {}", shown(before))))
        }
        (Action::Add(..), []) => Ok(None),
        (_, []) => Err(ToolError::not_found(format!("{menu} has no row with {}", shown(&change.select)))),
        (_, [row]) if is_dynamic(row) => Err(ToolError::precondition(format!(
            "{} of {menu} is the router's own: it cannot be changed",
            shown(&change.select)
        ))),
        (_, [row]) if is_unfinished(row) => Err(ToolError::precondition(format!(
            "a row of {menu} has the comment {}: a change of it has not ended",
            row["comment"]
        ))
        .hint("if no plan is being applied, give it another comment at the router")),
        (Action::Set(_), [row]) if duplicate_of(change, row, &rows).is_some() => Err(ToolError::precondition(format!(
            "{menu} has another row that is as this one would be: {}",
            shown(&change.after())
        ))
        .hint("plan to remove one of them")),
        (_, [row]) => {
            let id = row[".id"].as_str().unwrap_or_default().to_owned();
            let is_here = |other: &&&Value| other[".id"] == row[".id"];
            let next = rows.iter().skip_while(|other| !is_here(other)).skip(1).find(|other| !is_dynamic(other));
            let is_ordered = change.action == Action::Remove && is_known_by_all(menu);
            let following = next.filter(|_| is_ordered).map(|row| place(menu, row));
            let before = touched(change, row);
            if let Some((name, _)) = before.iter().find(|(_, value)| value.contains('\u{FFFD}')) {
                return Err(ToolError::precondition(format!(
                    "{name} of a row of {menu} holds bytes that are no UTF-8: it could not be put back"
                ))
                .hint("change it at the router"));
            }
            Ok(Some(BaseRow { id, fields: before, following }))
        }
        (_, many) => Err(ToolError::new(
            ErrorCode::Conflict,
            format!("{menu} has {} rows with {}", many.len(), shown(&change.select)),
        )
        .hint("name more of what the row holds, so that it is the only one")),
    }
}

/// The place before a row: all that it holds, and its id, since another row may hold the same.
pub fn place(menu: &str, row: &Value) -> Selector {
    let mut place = kept(menu, row);
    // What is not set says nothing to a person, and is not asked for.
    place.retain(|_, value| !matches!(value.as_str(), "" | "false" | "no"));
    place.extend(row[".id"].as_str().map(|id| (".id".to_owned(), id.to_owned())));
    place
}

/// The row that is meant by a place. Its id decides only between rows that hold the same: after a start of the router it may be another row's.
pub(super) fn placed<'a>(menu: &str, rows: &[&'a Value], place: &Selector) -> Option<&'a Value> {
    let mut wanted = place.clone();
    let id = wanted.remove(".id");
    let found = |is_it: &dyn Fn(&Value) -> bool| rows.iter().copied().filter(|row| is_it(row)).collect::<Vec<_>>();
    let mut candidates = found(&|row| is_exactly(menu, row, &wanted));
    if candidates.is_empty() {
        candidates = found(&|row| holds(row, &wanted));
    }
    match candidates[..] {
        [row] => Some(row),
        _ => candidates.into_iter().find(|row| id.as_ref().is_some_and(|id| row[".id"] == id.as_str())),
    }
}

/// The row of `rows`, if there is one, that a changed `row` would be a duplicate of, whatever their comments.
fn duplicate_of<'a>(change: &Change, row: &Value, rows: &[&'a Value]) -> Option<&'a Value> {
    if !has_row(change) {
        return None;
    }
    let mut wanted = kept(&change.menu, row);
    wanted.extend(change.after());
    wanted.remove("comment");
    let is_duplicate = |other: &Value| other[".id"] != row[".id"] && is_duplicate(&change.menu, other, &wanted);
    rows.iter().copied().find(|other| is_duplicate(other))
}

fn touched(change: &Change, row: &Value) -> Fields {
    let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let mut fields: Fields = change.after().keys().map(|name| (name.clone(), text(name))).collect();
    // The mark takes its place for a while.
    if has_row(change) {
        fields.insert("comment".into(), text("comment"));
    }
    if change.action == Action::Remove {
        fields.insert("disabled".into(), text("disabled"));
        fields.extend(kept(&change.menu, row));
    }
    fields
}
