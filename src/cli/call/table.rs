//! A list of records as a table, where it fits the width of the terminal.

use super::unit::is_share;
use crate::terminal::printable;
use serde_json::{Map, Value};

/// The table of `items`, each line indented by `pad`: `None` if there are fewer than two, if one is no record of plain
/// values, or if a line would be longer than `width`. `field` says the heading and the text of a field of a record.
pub fn table(
    items: &[Value],
    pad: &str,
    width: usize,
    field: impl Fn(&str, &Value, &Map<String, Value>) -> (String, String),
) -> Option<String> {
    let records: Vec<&Map<String, Value>> = items.iter().map(Value::as_object).collect::<Option<_>>()?;
    if records.len() < 2 || records.iter().any(|record| record.values().any(Value::is_object)) {
        return None;
    }
    let mut names: Vec<&String> = Vec::new();
    for record in &records {
        names.extend(record.keys().filter(|name| !names.contains(name)).collect::<Vec<_>>());
    }
    let has = |record: &Map<String, Value>, name: &str| record.get(name).is_some_and(|value| !value.is_null());
    // A column that has nothing in any record, or only shares that stand behind their bytes, says nothing.
    names.retain(|name| records.iter().any(|record| has(record, name) && !is_share(name, record)));
    let mut lines: Vec<Vec<String>> = vec![Vec::new(); records.len() + 1];
    for name in names {
        // The heading is the same for each value that is one.
        let first = records.iter().find(|record| has(record, name));
        lines[0].push(first.map_or_else(String::new, |record| field(name, &record[name], record).0));
        for (line, record) in lines[1..].iter_mut().zip(&records) {
            line.push(record.get(name).map_or_else(String::new, |value| field(name, value, record).1));
        }
    }
    // A text of several lines, or one that a terminal would obey, is no cell.
    if lines.iter().flatten().any(|cell| printable(cell) != *cell) {
        return None;
    }
    let widths: Vec<usize> = (0..lines[0].len())
        .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default())
        .collect();
    if pad.len() + widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1) > width {
        return None;
    }
    let mut out = String::new();
    for line in lines {
        let cells: Vec<String> = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        out.push_str(&format!("{pad}{}\n", cells.join("  ").trim_end()));
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn drawn(items: Value, width: usize) -> Option<String> {
        let plain = |name: &str, value: &Value, _: &Map<String, Value>| {
            (name.to_owned(), value.as_str().map_or(value.to_string(), Into::into))
        };
        table(items.as_array().unwrap(), "  ", width, plain)
    }

    #[test]
    fn records_are_lines_below_the_names_of_their_fields() {
        let pins = json!([{"pin": 2, "mode": "alt", "function": "SDA1"}, {"pin": 17, "mode": "input"}]);
        let text = "  pin  mode   function\n  2    alt    SDA1\n  17   input\n";
        assert_eq!(drawn(pins.clone(), 22).as_deref(), Some(text));
        assert_eq!(drawn(pins, 21), None, "one character more than there is room for");
    }

    #[test]
    fn what_is_no_list_of_plain_records_is_no_table() {
        for items in [
            json!([{"pin": 2}]),
            json!([{"pin": 2}, 3]),
            json!([{"pin": 2}, {"pin": {"a": 1}}]),
            json!([{"text": "a\nb"}, {"text": "c"}]),
            json!([{"text": "\u{1b}[2J"}, {"text": "c"}]),
        ] {
            assert_eq!(drawn(items.clone(), 80), None, "{items}");
        }
    }
}
