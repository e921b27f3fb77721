//! A written value with its position, the same for TOML, variables and flags.

use super::fault::Position;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// A written value and its start; no position when it is from a variable or a flag.
#[derive(Clone, Debug)]
pub struct Found {
    pub at: Option<Position>,
    pub value: Written,
}

/// The unchecked value.
#[derive(Clone, Debug)]
pub enum Written {
    Text(String),
    Boolean(bool),
    Integer(i64),
    /// A fraction, or an integer beyond 64 bits.
    Number(String),
    /// A TOML date or time, as written.
    Time(String),
    List(Vec<Found>),
    Table(Vec<Entry>),
}

/// One `key = value`.
#[derive(Clone, Debug)]
pub struct Entry {
    pub key: String,
    pub key_at: Option<Position>,
    pub found: Found,
}

impl Found {
    /// Text from a variable or a flag.
    pub fn text(text: &str) -> Self {
        Self { at: None, value: Written::Text(text.to_owned()) }
    }

    /// The kind of value without its content, for values that may be secret.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Written::Text(_) => "a text",
            Written::Boolean(_) => "true or false",
            Written::Integer(_) | Written::Number(_) => "a number",
            Written::Time(_) => "a date",
            Written::List(_) => "a list",
            Written::Table(_) => "a table",
        }
    }

    /// The text, if `good` accepts it.
    pub fn good_text(&self, good: impl Fn(&str) -> bool) -> Option<String> {
        match &self.value {
            Written::Text(text) if good(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// The form for error messages: short, on one line, and only the kind of a compound value.
    pub fn shown(&self) -> String {
        match &self.value {
            Written::Text(text) => quoted(text),
            Written::Boolean(value) => value.to_string(),
            Written::Integer(value) => value.to_string(),
            Written::Number(text) => text.chars().take(40).collect(),
            Written::Time(text) => format!("the date {text}"),
            Written::List(_) | Written::Table(_) => self.kind().into(),
        }
    }
}

/// Quoted, escaped and truncated to 80 characters, because errors must not repeat arbitrary input and control
/// characters must not reach a terminal.
pub fn quoted(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut short: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    format!("\"{short}\"")
}

/// Turns byte offsets into lines and columns.
pub struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub fn of(text: &'a str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(index, _)| index + 1)).collect();
        Self { text, starts }
    }

    pub fn position(&self, offset: usize) -> Position {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line - 1];
        let column = self.text.get(start..offset).map_or(offset - start, |before| before.chars().count()) + 1;
        Position { line, column }
    }
}

/// The entries of a parsed table, in the order they were written.
pub fn table(table: &DeTable<'_>, lines: &Lines<'_>) -> Vec<Entry> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
        .into_iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            key_at: Some(lines.position(key.span().start)),
            found: value_of(value, lines),
        })
        .collect()
}

fn value_of(value: &Spanned<DeValue<'_>>, lines: &Lines<'_>) -> Found {
    let written = match value.get_ref() {
        DeValue::String(text) => Written::Text(text.to_string()),
        DeValue::Boolean(value) => Written::Boolean(*value),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(value) => Written::Integer(value),
            Err(_) => Written::Number(number.to_string()),
        },
        DeValue::Float(number) => Written::Number(number.as_str().to_owned()),
        DeValue::Datetime(time) => Written::Time(time.to_string()),
        DeValue::Array(items) => Written::List(items.iter().map(|item| value_of(item, lines)).collect()),
        DeValue::Table(inner) => Written::Table(table(inner, lines)),
    };
    Found { at: Some(lines.position(value.span().start)), value: written }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_become_lines_and_columns_of_characters() {
        let lines = Lines::of("a\nüb = 1\n");
        assert_eq!(lines.position(0), Position { line: 1, column: 1 });
        assert_eq!(lines.position(2), Position { line: 2, column: 1 });
        assert_eq!(lines.position(4), Position { line: 2, column: 2 });
        assert_eq!(lines.position(999), Position { line: 3, column: 1 });
    }

    #[test]
    fn quotes_are_short_and_harmless() {
        assert_eq!(quoted("a\u{1b}[2J"), r#""a\u{1b}[2J""#);
        assert_eq!(quoted(&"x".repeat(100)).chars().count(), 83);
    }
}
