//! Listings of menus: filters, projections, queries.

use crate::{menus::Menu, request::Request, state::State, table::Row};
use serde_json::{Map, Value};

/// The menu that a path names, and what follows: an id, a name or a command.
///
/// # Errors
/// The `detail` of a 400.
pub(crate) fn split<'a>(state: &State, path: &'a str) -> Result<(Menu, Option<&'a str>), String> {
    let path = path.trim_matches('/');
    if let Some(menu) = state.menu(path) {
        return Ok((menu, None));
    }
    let (folder, item) = path.rsplit_once('/').unwrap_or(("", path));
    match state.menu(folder) {
        Some(menu) if Menu::known(path).is_none() => Ok((menu, Some(item))),
        _ => Err(format!("no such command or directory ({})", path.rsplit('/').next().unwrap_or_default())),
    }
}

pub(crate) fn proplist(request: &Request) -> Option<Vec<String>> {
    let of_body = match request.body.get(".proplist") {
        Some(Value::Array(names)) => Some(names.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
        Some(Value::String(names)) => Some(names.split(',').map(str::to_owned).collect()),
        _ => None,
    };
    let of_query = || {
        request
            .query
            .iter()
            .find(|(name, _)| name == ".proplist")
            .map(|(_, names)| names.split(',').map(str::to_owned).collect())
    };
    of_body.or_else(of_query)
}

pub(crate) fn projected(
    menu: Menu,
    fields: &Map<String, Value>,
    proplist: &Option<Vec<String>>,
) -> Result<Value, String> {
    let Some(names) = proplist else { return Ok(fields.clone().into()) };
    if let Some(unknown) = names.iter().find(|name| !menu.has_field(name) && !fields.contains_key(*name)) {
        return Err(format!("unknown parameter {unknown}"));
    }
    let kept = names.iter().filter_map(|name| Some((name.clone(), fields.get(name)?.clone())));
    Ok(Value::Object(kept.collect()))
}

/// A listing with its filters: those of the query, or the words of `.query`.
///
/// # Errors
/// The `detail` of a 400.
pub(crate) fn list(state: &State, menu: Menu, request: &Request) -> Result<Value, String> {
    let filters: Vec<&(String, String)> = request.query.iter().filter(|(name, _)| name != ".proplist").collect();
    let words: Vec<&str> = request
        .body
        .get(".query")
        .and_then(Value::as_array)
        .map_or(Vec::new(), |all| all.iter().filter_map(Value::as_str).collect());
    let rows = state.rows(menu.path);
    if let Some((unknown, _)) =
        filters.iter().find(|(name, _)| !menu.has_field(name) && !rows.iter().any(|row| row.fields.contains_key(name)))
    {
        return Err(format!("unknown parameter {unknown}"));
    }
    let proplist = proplist(request);
    let kept = rows
        .into_iter()
        .filter(|row| filters.iter().all(|(name, value)| value_of(row, name) == *value) && queried(row, &words));
    let shown = kept.map(|row| match row.into_shown() {
        Value::Object(fields) if proplist.is_some() => projected(menu, &fields, &proplist),
        whole => Ok(whole),
    });
    shown.collect::<Result<_, _>>().map(Value::Array)
}

fn value_of(row: &Row, name: &str) -> String {
    if name == ".id" { row.id.to_string() } else { row.get(name).to_owned() }
}

/// The words of `.query`: `name=value`, `name`, `-name`, and `#|`, `#&`, `#!` as operations on the results so far.
fn queried(row: &Row, words: &[&str]) -> bool {
    let mut stack = Vec::new();
    for word in words {
        match word.strip_prefix('#') {
            Some(operations) => {
                for operation in operations.chars() {
                    let last = stack.pop().unwrap_or(true);
                    let result = match operation {
                        '!' => !last,
                        '|' => stack.pop().unwrap_or(false) | last,
                        _ => stack.pop().unwrap_or(true) & last,
                    };
                    stack.push(result);
                }
            }
            None => stack.push(match word.split_once('=') {
                Some((name, value)) => value_of(row, name) == value,
                None => word
                    .strip_prefix('-')
                    .map_or_else(|| row.fields.contains_key(*word), |absent| !row.fields.contains_key(absent)),
            }),
        }
    }
    stack.into_iter().all(|is| is)
}
