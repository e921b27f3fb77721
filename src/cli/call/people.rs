//! A result as text for people: indented `name: value` lines, with units, and tables where they fit.

use super::{
    table::table,
    unit::{is_ambiguous, is_share, share, with_unit},
};
use crate::terminal::printable;
use rustix::termios::tcgetwinsize;
use serde_json::{Map, Value};
use std::{fmt::Write, io};

/// Where the width is not known, and on a pipe.
const WIDTH: usize = 80;

/// The result of `tool`. On a terminal (`marked`), each further line of a text of several lines begins with a mark, so
/// that no text can imitate a field.
pub fn text(tool: &str, data: &Value, marked: bool) -> String {
    let width = match tcgetwinsize(io::stdout()) {
        Ok(size) if marked && size.ws_col > 0 => size.ws_col.into(),
        _ => WIDTH,
    };
    let mut page =
        Page { on_bus: tool.starts_with("i2c.") || tool.starts_with("spi."), marked, width, text: String::new() };
    page.value(data, 0);
    page.text
}

struct Page {
    /// Whether addresses, registers and bytes are those of a bus: data sheets write them in hexadecimal.
    on_bus: bool,
    marked: bool,
    width: usize,
    text: String,
}

impl Page {
    fn value(&mut self, value: &Value, indent: usize) {
        let pad = "  ".repeat(indent);
        match value {
            Value::Object(map) => {
                for (name, value) in map {
                    if is_share(name, map) {
                        continue;
                    }
                    if is_nested(value) {
                        let _ = writeln!(self.text, "{pad}{}:", self.shown(name));
                        self.value(value, indent + 1);
                    } else {
                        let (shown, text) = self.field(name, value, map, &pad);
                        let _ = writeln!(self.text, "{pad}{shown}: {text}");
                    }
                }
            }
            Value::Array(items) => {
                if let Some(drawn) = table(items, &pad, self.width, |name, value, of| self.field(name, value, of, "")) {
                    self.text.push_str(&drawn);
                    return;
                }
                for item in items {
                    let before = self.text.len();
                    self.value(item, indent + 1);
                    // The first line carries the dash.
                    let lines = self.text.split_off(before);
                    let _ = write!(self.text, "{pad}- {}", lines.trim_start());
                }
            }
            other => {
                let text = self.plain(other, &pad);
                let _ = writeln!(self.text, "{pad}{text}");
            }
        }
    }

    /// A field's name as it is printed.
    fn shown(&self, name: &str) -> String {
        if self.marked { printable(name) } else { name.to_owned() }.replace('_', " ")
    }

    /// The printed name and the text of a value of `record` that is not nested. A share in percent stands behind its bytes.
    fn field(&self, name: &str, value: &Value, record: &Map<String, Value>, pad: &str) -> (String, String) {
        if self.on_bus
            && HEXADECIMAL.contains(&name)
            && let Some(text) = hexadecimal(value)
        {
            return (self.shown(name), text);
        }
        match (with_unit(name, value), share(name, record)) {
            (Some((name, text)), Some(share)) => (self.shown(&name), format!("{text} ({share} %)")),
            (Some((_, text)), None) if is_ambiguous(name, record) => (self.shown(name), text),
            (Some((name, text)), None) => (self.shown(&name), text),
            (None, _) => (self.shown(name), self.plain(value, pad)),
        }
    }

    fn plain(&self, value: &Value, pad: &str) -> String {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Array(items) if items.is_empty() => "none".into(),
            Value::Object(map) if map.is_empty() => "none".into(),
            Value::Array(items) => items.iter().map(|item| self.plain(item, pad)).collect::<Vec<_>>().join(", "),
            Value::Bool(yes) => if *yes { "yes" } else { "no" }.into(),
            Value::Null => "-".into(),
            other => other.to_string(),
        };
        if self.marked { text.trim_end_matches('\n').replace('\n', &format!("\n{pad}  | ")) } else { text }
    }
}

/// Fields of the tools of buses whose numbers are bytes.
const HEXADECIMAL: &[&str] = &["address", "addresses", "register", "data", "skipped", "unclear"];

/// One number, or a list of them, in hexadecimal.
fn hexadecimal(value: &Value) -> Option<String> {
    match value {
        Value::Array(items) if !items.is_empty() => {
            items.iter().map(hexadecimal).collect::<Option<Vec<_>>>().map(|texts| texts.join(" "))
        }
        number => number.as_u64().map(|number| format!("0x{number:02x}")),
    }
}

fn is_nested(value: &Value) -> bool {
    match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => items.iter().any(|item| item.is_object() || item.is_array()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_bus_speaks_hexadecimal_and_others_do_not() {
        let data =
            json!({"bus": 1, "addresses": [42, 118], "in_use": [{"address": 104, "driver": "rtc"}], "skipped": []});
        let shown = "bus: 1\naddresses: 0x2a 0x76\nin use:\n  - address: 0x68\n    driver: rtc\nskipped: none\n";
        assert_eq!(text("i2c.scan_bus", &data, false), shown);
        assert_eq!(text("spi.transfer", &json!({"data": [1, 255]}), false), "data: 0x01 0xff\n");
        assert_eq!(text("network.get_status", &json!({"address": 42}), false), "address: 42\n");
    }

    #[test]
    fn a_text_of_several_lines_poses_as_no_field_on_a_terminal() {
        let data = json!({"text": "a\nsimulated: no", "list": [["b\nc"]]});
        let shown = text("test.echo", &data, true);
        assert!(shown.starts_with("text: a\n  | simulated: no\n"), "{shown}");
        assert!(!shown.lines().any(|line| line == "c"), "{shown}");
    }

    #[test]
    fn no_two_lines_have_the_same_name() {
        let data = json!({"used_bytes": 20480, "used_percent": 34.2, "memory_percent": 3.5, "memory": {"rss": 1}});
        let shown = "used: 20.0 KiB (34.2 %)\nmemory percent: 3.5 %\nmemory:\n  rss: 1\n";
        assert_eq!(text("system.get_x", &data, false), shown);
        let disks = json!([
            {"name": "a", "used_bytes": 20480, "used_percent": 34.2},
            {"name": "b", "used_bytes": 512, "used_percent": null},
        ]);
        assert_eq!(text("system.get_x", &disks, false), "name  used\na     20.0 KiB (34.2 %)\nb     512 B\n");
        let unknown = json!([
            {"name": "a", "used_bytes": 20480, "used_percent": 34.2},
            {"name": "b", "used_bytes": null, "used_percent": 7},
        ]);
        let shown =
            "name  used               used percent\na     20.0 KiB (34.2 %)  34.2 %\nb     -                  7 %\n";
        assert_eq!(text("system.get_x", &unknown, false), shown, "a share of nothing keeps its column");
    }

    #[test]
    fn records_become_a_table_with_units() {
        let data = json!({"disks": [{"name": "a", "used_bytes": 20480}, {"name": "b", "used_bytes": null}]});
        assert_eq!(text("system.get_x", &data, false), "disks:\n  name  used\n  a     20.0 KiB\n  b     -\n");
    }
}
