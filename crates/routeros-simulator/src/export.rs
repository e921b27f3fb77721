//! `/export`: the configuration as commands, without secrets, without what the router made itself.

use crate::{
    clock::date_and_time,
    menus::{Menu, Verb},
    state::State,
    table::Row,
};
use serde_json::Value;
use std::{collections::BTreeMap, fmt::Write};

/// Never exported without `show-sensitive`.
const SECRETS: [&str; 4] = ["password", "passphrase", "wpa2-pre-shared-key", "private-key"];

/// The export of all menus, or of those below `path`.
pub(crate) fn text(state: &State, path: &str) -> String {
    let version = state.profile.version().split(' ').next().unwrap_or_default();
    let mut text = format!("# {} by RouterOS {version}\n# software id = ABCD-1234\n#\n", date_and_time(state.clock()));
    for menu in Menu::below(state.profile, path).filter(|menu| menu.has("export") && menu.path != "interface") {
        let lines = if menu.is_singleton() { singleton(state, menu) } else { rows(state, menu) };
        if !lines.is_empty() {
            let _ = write!(text, "/{}\n{lines}", menu.path.replace('/', " "));
        }
    }
    text
}

fn singleton(state: &State, menu: Menu) -> String {
    let mut line = String::new();
    for (name, value) in state.singletons.get(menu.path).into_iter().flatten() {
        let value = worded(value.as_str().unwrap_or_default());
        if menu.path != "system/clock" && !value.is_empty() && menu.parameter(Verb::Set, name).is_some() {
            let _ = write!(line, " {name}={}", quoted(value));
        }
    }
    if line.is_empty() { line } else { format!("set{line}\n") }
}

fn rows(state: &State, menu: Menu) -> String {
    let verb = if menu.has("add") { Verb::Add } else { Verb::Set };
    let mut lines = String::new();
    for row in state.stored(menu.path).iter().filter(|row| !row.is("dynamic") && !row.is("default")) {
        let begin = match verb {
            Verb::Add => "add".to_owned(),
            Verb::Set if row.get("default-name").is_empty() => format!("set {}", row.get("name")),
            Verb::Set => format!("set [ find default-name={} ]", row.get("default-name")),
        };
        let _ = writeln!(lines, "{begin}{}", arguments(menu, verb, row));
    }
    lines
}

fn arguments(menu: Menu, verb: Verb, row: &Row) -> String {
    let mut text = String::new();
    // As a router does: by name, and without what is not set.
    let fields: BTreeMap<&String, &Value> = row.fields.iter().collect();
    for (name, value) in fields {
        let value = value.as_str().unwrap_or_default();
        let known = menu.parameter(verb, name).is_some() && !SECRETS.contains(&name.as_str());
        if (name.as_str(), value) == ("disabled", "false") {
            continue;
        }
        let value = worded(value);
        if known && !value.is_empty() {
            let _ = write!(text, " {name}={}", quoted(value));
        }
    }
    text
}

/// Flags are `yes` and `no` in scripts.
fn worded(value: &str) -> &str {
    match value {
        "true" => "yes",
        "false" => "no",
        other => other,
    }
}

/// A value as a script has to have it.
fn quoted(value: &str) -> String {
    if value
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/' | ':' | ',' | '*' | '!' | '+'))
    {
        return value.to_owned();
    }
    let mut text = String::from('"');
    for c in value.chars() {
        match c {
            '"' | '\\' | '$' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}
