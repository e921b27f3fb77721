//! The inverse of changes as a script of RouterOS. No value can end its quotation marks.

use super::{
    base::Base,
    change::{Action, Change, Fields},
    mark::{has_row, mark},
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

/// The script that takes `changes` of `plan` back: each command by itself, since a script ends at its first error. A row is found by its
/// mark, which it gets back its comment for with the last command about it, so that a second run goes on where a first one was cut. It turns
/// off the entries of the scheduler whose names are `entries`, so that it runs once.
pub fn inverse(changes: &[Change], base: &Base, plan: &str, entries: &[&str]) -> String {
    let mut text = String::new();
    for (at, change) in changes.iter().enumerate().rev() {
        let menu = &change.menu;
        let find = if has_row(change) { format!(" [find comment={}]", quoted(&mark(plan, at))) } else { String::new() };
        let run = |command: &str, text: &mut String| {
            let _ = writeln!(text, ":do {{ {command} }} on-error={{}}");
        };
        if let Action::Add(..) = change.action {
            run(&format!("/{menu}/remove{find}"), &mut text);
            continue;
        }
        let (unset, before) = before(change, base.row(at).map(|row| &row.fields));
        for name in unset.keys() {
            run(&format!("/{menu}/unset{find} value-name={}", quoted(name)), &mut text);
        }
        if !before.is_empty() {
            run(&format!("/{menu}/set{find}{}", arguments(&before)), &mut text);
        }
    }
    for entry in entries {
        let _ = writeln!(text, ":do {{ /system/scheduler/disable [find name={}] }} on-error={{}}", quoted(entry));
    }
    text
}

/// What a changed or removed row held: the fields that had no value and are unset, and those that are set again.
fn before(change: &Change, row: Option<&Fields>) -> (Fields, Fields) {
    let old = |name: &String| row.and_then(|row| row.get(name)).cloned().unwrap_or_default();
    let switch = || (!has_no_switch(&change.menu)).then(|| "disabled".to_owned());
    let mut names: Vec<String> = match &change.action {
        Action::Set(fields) => fields.keys().cloned().collect(),
        Action::Add(..) | Action::Remove => switch().into_iter().collect(),
    };
    if has_row(change) && !names.iter().any(|name| name == "comment") {
        names.push("comment".into());
    }
    let all = names.into_iter().map(|name| {
        let value = old(&name);
        // A flag is shown as one word and set with another.
        let value = if name == "disabled" { if value == "true" { "yes".into() } else { "no".into() } } else { value };
        (name, value)
    });
    all.partition(|(name, value)| is_unset(&change.menu, name, value))
}
