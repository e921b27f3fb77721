//! The settings in force that differ from the defaults, as a fragment for the folder of another machine, without secrets.

use super::{Places, Settings, keys::KEYS, kind::SettingKind, prepared};
use serde_json::Value;

/// An export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedSettings {
    /// A fragment of the configuration, to be written below `/etc/raspi-mcp`.
    pub toml: String,
    /// Keys that are set and not in it, because a part of their value is secret, or is not for this reader.
    pub left_out: Vec<&'static str>,
}

/// Exports them. `commands`: with `exec.commands`, whose patterns say what an attacker may try. What [`Settings::summary`] hides in part is left out whole, and so is what is made at each start of an
/// appliance ([`prepared`]), and where this machine keeps its files.
pub fn exported(settings: &Settings, commands: bool) -> ExportedSettings {
    let whole = serde_json::to_value(settings).unwrap_or_default();
    let (shown, defaults) = (settings.summary(), Settings::default_for(&Places::system()).summary());
    let mut left_out = Vec::new();
    // Keys at the top level come first: below a section they would be the section's.
    let (mut top, mut sections) = (String::new(), String::new());
    let mut section = "";
    for key in KEYS.iter().filter(|key| !key.name.starts_with("places.")) {
        let [value, default, real] =
            [&shown, &defaults, &whole].map(|settings| key.name.split('.').fold(settings, |at, part| &at[part]));
        if value == default || is_made(value) {
            continue;
        }
        if value != real || key.name == "exec.commands" && !commands {
            left_out.push(key.name);
            continue;
        }
        let lines = match (key.kind, value) {
            (SettingKind::Mode, Value::Object(modes)) => modes.iter().map(|(tool, mode)| line(tool, mode)).collect(),
            _ => line(key.name.rsplit('.').next().unwrap_or(key.name), value),
        };
        let of = match (key.kind, key.name.rsplit_once('.')) {
            (SettingKind::Mode, _) => key.name,
            (_, Some((of, _))) => of,
            (_, None) => {
                top.push_str(&lines);
                continue;
            }
        };
        if of != section {
            section = of;
            sections.push_str(&format!("\n[{of}]\n"));
        }
        sections.push_str(&lines);
    }
    ExportedSettings { toml: format!("{top}{sections}").trim_start().to_owned(), left_out }
}

/// Whether it is a file that `raspi-mcp prepare` makes.
fn is_made(value: &Value) -> bool {
    value.as_str().is_some_and(|path| path.starts_with(prepared::FOLDER))
}

fn line(key: &str, value: &Value) -> String {
    format!("{} = {}\n", name(key), toml(value))
}

fn name(key: &str) -> String {
    let plain = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if plain && !key.is_empty() { key.to_owned() } else { Value::from(key).to_string() }
}

/// A value in TOML: its strings, numbers and lists are those of JSON, but for DEL, which is escaped.
fn toml(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let set = fields.iter().filter(|(_, value)| !value.is_null());
            let fields: Vec<String> = set.map(|(key, value)| format!("{} = {}", name(key), toml(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(", ")),
        plain => plain.to_string().replace('\u{7f}', "\\u007f"),
    }
}
