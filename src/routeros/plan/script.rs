//! The inverse of changes as a script of RouterOS. No value can end its quotation marks.

use super::{
    base::Base,
    change::{Action, Change, Fields},
};
use std::fmt::Write;

/// A value in quotation marks. Everything but plain characters is written as `\` and two hexadecimal digits, byte by byte
/// (MikroTik's manual, "Scripting", constant escape sequences).
pub fn quoted(value: &str) -> String {
    let mut text = String::from('"');
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b' '
            | b'.'
            | b','
            | b':'
            | b'-'
            | b'_'
            | b'/'
            | b'='
            | b'!'
            | b'*'
            | b'+'
            | b'@'
            | b'%' => text.push(char::from(byte)),
            _ => {
                let _ = write!(text, "\\{byte:02X}");
            }
        }
    }
    text.push('"');
    text
}

fn arguments(fields: &Fields) -> String {
    fields.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = write!(text, " {name}={}", quoted(value));
        text
    })
}

/// The script that takes `changes` back: each command by itself, since a script ends at its first error. It turns off the
/// entries of the scheduler whose names are `entries`, so that it runs once.
pub fn inverse(changes: &[Change], base: &Base, entries: &[&str]) -> String {
    let mut text = String::new();
    for (at, change) in changes.iter().enumerate().rev() {
        let menu = &change.menu;
        let find = format!("[find{}]", arguments(&change.after()));
        let command = match (&change.action, base.row(at)) {
            (Action::Add(..), _) => format!("/{menu}/remove {find}"),
            (Action::Remove, _) => format!("/{menu}/enable {find}"),
            (Action::Set(fields), row) => {
                let before = |name: &String| row.and_then(|row| row.fields.get(name)).cloned().unwrap_or_default();
                let before: Fields = fields.keys().map(|name| (name.clone(), before(name))).collect();
                let find = if change.select.is_empty() { String::new() } else { format!(" {find}") };
                format!("/{menu}/set{find}{}", arguments(&before))
            }
        };
        let _ = writeln!(text, ":do {{ {command} }} on-error={{}}");
    }
    for entry in entries {
        let _ = writeln!(text, ":do {{ /system/scheduler/disable [find name={}] }} on-error={{}}", quoted(entry));
    }
    text
}
