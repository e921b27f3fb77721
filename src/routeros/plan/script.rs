//! The inverse of changes as a script of RouterOS. No value can end its quotation marks.

use super::{
    base::Base,
    change::{Action, Change, Fields},
    row::{has_no_switch, is_unset},
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

/// The fields that have a value.
pub(super) fn set_fields(fields: &Fields) -> Fields {
    fields.iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The script that takes `changes` back: each command by itself, since a script ends at its first error. It turns off the
/// entries of the scheduler whose names are `entries`, so that it runs once.
pub fn inverse(changes: &[Change], base: &Base, entries: &[&str]) -> String {
    let mut text = String::new();
    for (at, change) in changes.iter().enumerate().rev() {
        let menu = &change.menu;
        let find = format!("[find{}]", arguments(&change.after()));
        let run = |command: &str, text: &mut String| {
            let _ = writeln!(text, ":do {{ {command} }} on-error={{}}");
        };
        match (&change.action, base.row(at)) {
            (Action::Add(..), _) => run(&format!("/{menu}/remove {find}"), &mut text),
            (Action::Remove, Some(row)) if has_no_switch(menu) => {
                // Networks may be there twice, and nothing refers to one by its id; the name of a pool is its own.
                if menu != "ip/pool" {
                    run(&format!("/{menu}/remove {find}"), &mut text);
                }
                run(&format!("/{menu}/add{}", arguments(&set_fields(&row.fields))), &mut text);
            }
            // It was off before, and is now.
            (Action::Remove, Some(row)) if row.fields.get("disabled").is_some_and(|off| off == "true") => {}
            (Action::Remove, _) => run(&format!("/{menu}/enable {find}"), &mut text),
            (Action::Set(fields), row) => {
                let before = |name: &String| row.and_then(|row| row.fields.get(name)).cloned().unwrap_or_default();
                let before: Fields = fields.keys().map(|name| (name.clone(), before(name))).collect();
                let find = if change.select.is_empty() { String::new() } else { format!(" {find}") };
                let (unset, before): (Fields, Fields) =
                    before.into_iter().partition(|(name, value)| is_unset(menu, name, value));
                for name in unset.keys() {
                    run(&format!("/{menu}/unset{find} value-name={}", quoted(name)), &mut text);
                }
                if !before.is_empty() {
                    run(&format!("/{menu}/set{find}{}", arguments(&before)), &mut text);
                }
            }
        }
    }
    for entry in entries {
        let _ = writeln!(text, ":do {{ /system/scheduler/disable [find name={}] }} on-error={{}}", quoted(entry));
    }
    text
}
