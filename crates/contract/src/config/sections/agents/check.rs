//! The fields of `[[agents]]` and `[agents.tools.NAME]`, each by itself.

use super::{AgentKind, AgentStart, MOST, MOST_TOOLS};
use crate::{
    config::{
        found::{ConfigEntry, LocatedValue, UncheckedValue, quoted},
        kind::{Complaint, KnownTools, ROLES, SettingKind, count, seconds},
        sections::exec::is_ours,
        words::{full_path, meant},
    },
    schema::Checker,
};
use serde_json::{Map, Value};
use std::path::Path;

const TIERS: SettingKind = SettingKind::Choice(&["fundamental", "advanced", "professional"]);
const TOOL_FIELDS: [&str; 8] = ["title", "description", "tier", "role", "policy", "timeout_seconds", "input", "output"];
/// Maximum arguments of a program, and bytes of one.
const ARGS: usize = 64;
const ARG_BYTES: usize = 1024;
/// Maximum variables of an environment.
const ENV: usize = 32;
/// Maximum bytes of a description: it is in the context of a model.
const TEXT_BYTES: usize = 2048;
/// Programs that fetch what they run: nobody could say what was accepted.
const FETCHERS: [&str; 14] =
    ["npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun", "uvx", "uv", "pipx", "pip", "pip3", "corepack", "deno"];

pub(super) fn check_field(field: &str, found: &LocatedValue, tools: &KnownTools) -> Option<Result<Value, Complaint>> {
    let name = format!("agents.{field}");
    let refuse = |expected: &str| Err((found.at, format!("{name} must be {expected}, not {}", found.shown())));
    let by = |kind: SettingKind| kind.check_field(&name, found, tools);
    Some(match (field, &found.value) {
        ("type", UncheckedValue::Text(text)) if is_word(text) => Ok(text.as_str().into()),
        ("type", _) => refuse("1 to 32 characters from a-z, 0-9 and \"_\" that begin with a letter"),
        ("kind", _) => by(AgentKind::KIND),
        ("start", _) => by(AgentStart::KIND),
        ("start_seconds", _) => by(seconds(1, 300)),
        ("program", UncheckedValue::Text(text)) if is_fetcher(text) => Err((found.at, fetches(text))),
        ("program", UncheckedValue::Text(text)) if full_path(text) && !is_ours(Path::new(text)) => {
            Ok(text.as_str().into())
        }
        ("program", _) => refuse("the full path of a program without \"..\", and never raspi-mcp itself"),
        ("args", UncheckedValue::List(items)) if items.len() <= ARGS => {
            items.iter().map(|item| arg(&name, item)).collect()
        }
        ("args", _) => refuse("a list of at most 64 texts"),
        ("files" | "writable", _) => by(SettingKind::Folders),
        ("env", UncheckedValue::Table(entries)) if entries.len() <= ENV => {
            entries.iter().map(variable).collect::<Result<Map<_, _>, _>>().map(Value::Object)
        }
        ("env", _) => refuse("a table of at most 32 variables"),
        ("instances", _) => by(count(1, MOST as i64)),
        ("memory_mb", _) => by(count(8, 4096)),
        ("tasks", _) => by(count(1, 512)),
        ("network", _) => by(SettingKind::Bool),
        ("tools", UncheckedValue::Table(entries)) if (1..=MOST_TOOLS).contains(&entries.len()) => {
            entries.iter().map(|entry| tool(entry, tools)).collect::<Result<Map<_, _>, _>>().map(Value::Object)
        }
        ("tools", _) => refuse("1 to 32 tables [agents.tools.NAME]"),
        _ => return None,
    })
}

/// `[a-z][a-z0-9_]{0,31}`: a part of a tool's name, of a path and of a name on the bus.
fn is_word(text: &str) -> bool {
    (1..=32).contains(&text.len())
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// One variable of the environment. Those that say who calls are raspi-mcp's own.
fn variable(entry: &ConfigEntry) -> Result<(String, Value), Complaint> {
    let ConfigEntry { key, key_at, found } = entry;
    let letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let is_name =
        key.bytes().next().is_some_and(letter) && key.bytes().all(|byte| letter(byte) || byte.is_ascii_digit());
    if !is_name || key.len() > 64 || key.starts_with("RASPI_MCP_") {
        let expected = "1 to 64 letters, digits and \"_\", without a digit first, and not RASPI_MCP_...";
        return Err((*key_at, format!("a variable of agents.env is called by {expected}, not {}", quoted(key))));
    }
    let good = |text: &str| text.len() <= ARG_BYTES && !text.contains(char::is_control);
    match found.good_text(good) {
        Some(text) => Ok((key.clone(), text.into())),
        None => Err((found.at, format!("agents.env.{key} must be a text of at most {ARG_BYTES} bytes on one line"))),
    }
}

fn arg(name: &str, item: &LocatedValue) -> Result<Value, Complaint> {
    let good = |text: &str| text.len() <= ARG_BYTES && !text.contains(char::is_control);
    match item.good_text(good) {
        Some(text) if is_fetcher(&text) => Err((item.at, fetches(&text))),
        Some(text) => Ok(text.into()),
        None => Err((item.at, format!("{name}: {} is no text of at most {ARG_BYTES} bytes on one line", item.shown()))),
    }
}

/// Whether a word of it is the path of a fetcher, also as npm's own files are called (`npx-cli.js`).
fn is_fetcher(text: &str) -> bool {
    text.split_whitespace().filter_map(|word| word.rsplit('/').next()).any(|name| {
        let stem = name.strip_suffix(".js").unwrap_or(name);
        FETCHERS.contains(&stem.strip_suffix("-cli").unwrap_or(stem))
    })
}

fn fetches(text: &str) -> String {
    format!(
        "agents: {} fetches what it runs, which nobody can accept beforehand; install the program, and name it",
        quoted(text)
    )
}

fn tool(entry: &ConfigEntry, tools: &KnownTools) -> Result<(String, Value), Complaint> {
    let ConfigEntry { key, key_at, found } = entry;
    if !is_word(key) {
        return Err((
            *key_at,
            format!(
                "the tool {} of agents.tools must be called by 1 to 32 characters from a-z, 0-9 and \"_\" that begin with a letter",
                quoted(key)
            ),
        ));
    }
    let UncheckedValue::Table(entries) = &found.value else {
        return Err((found.at, format!("agents.tools.{key} must be a table, not {}", found.kind())));
    };
    let mut fields = Map::new();
    for ConfigEntry { key: field, key_at, found } in entries {
        let value = tool_field(&format!("agents.tools.{key}.{field}"), field, found, tools).unwrap_or_else(|| {
            let near = meant(field, TOOL_FIELDS);
            Err((*key_at, format!("unknown key {} in [agents.tools.{key}]{near}", quoted(field))))
        })?;
        fields.insert(field.clone(), value);
    }
    if !fields.contains_key("tier") {
        return Err((
            *key_at,
            format!("the tool agents.tools.{key} has no tier; it is \"fundamental\", \"advanced\" or \"professional\""),
        ));
    }
    Ok((key.clone(), Value::Object(fields)))
}

fn tool_field(name: &str, field: &str, found: &LocatedValue, tools: &KnownTools) -> Option<Result<Value, Complaint>> {
    let by = |kind: SettingKind| kind.check_field(name, found, tools);
    let plain =
        |text: &str| (1..=TEXT_BYTES).contains(&text.len()) && !text.contains(|c: char| c.is_control() && c != '\n');
    Some(match field {
        "title" => by(SettingKind::Text),
        "description" => found
            .good_text(plain)
            .map(Value::String)
            .ok_or_else(|| (found.at, format!("{name} must be a text of 1 to {TEXT_BYTES} bytes"))),
        "tier" => by(TIERS),
        "role" => by(ROLES),
        "policy" => by(SettingKind::Mode),
        "timeout_seconds" => by(seconds(1, 600)),
        "input" | "output" => schema(found).map_err(|why| (found.at, format!("{name}: {why}"))),
        _ => return None,
    })
}

/// A schema of an object, written as JSON, with the keywords that are executed.
fn schema(found: &LocatedValue) -> Result<Value, String> {
    let text = found.good_text(|text| text.len() <= super::DESCRIPTOR_BYTES);
    let text = text.ok_or("write the JSON Schema as one text of at most 8 KiB")?;
    let schema: Value = serde_json::from_str(&text).map_err(|error| format!("it is no JSON: {error}"))?;
    if schema["type"] != "object" {
        return Err("its type is not \"object\"".into());
    }
    Checker::new(&schema)?;
    Ok(schema)
}
