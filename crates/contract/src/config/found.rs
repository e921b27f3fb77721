//! A written value with its position, the same for TOML, variables and flags.

use super::fault::TextPosition;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// A written value and its start; no position when it is from a variable or a flag.
#[derive(Clone, Debug)]
pub struct LocatedValue {
    pub at: Option<TextPosition>,
    pub value: UncheckedValue,
}

/// The unchecked value.
#[derive(Clone, Debug)]
pub enum UncheckedValue {
    Text(String),
    Boolean(bool),
    Integer(i64),
    /// A fraction, or an integer beyond 64 bits.
    Number(String),
    /// A TOML date or time, as written.
    Time(String),
    List(Vec<LocatedValue>),
    Table(Vec<ConfigEntry>),
}

/// One `key = value`.
#[derive(Clone, Debug)]
pub struct ConfigEntry {
    pub key: String,
    pub key_at: Option<TextPosition>,
    pub found: LocatedValue,
}

impl LocatedValue {
    /// Text from a variable or a flag.
    pub fn text(text: &str) -> Self {
        Self { at: None, value: UncheckedValue::Text(text.to_owned()) }
    }

    /// The kind of value without its content, for values that may be secret.
    pub fn kind(&self) -> &'static str {
        match self.value {
            UncheckedValue::Text(_) => "a text",
            UncheckedValue::Boolean(_) => "true or false",
            UncheckedValue::Integer(_) | UncheckedValue::Number(_) => "a number",
            UncheckedValue::Time(_) => "a date",
            UncheckedValue::List(_) => "a list",
            UncheckedValue::Table(_) => "a table",
        }
    }

    /// The text, if `good` accepts it.
    pub fn good_text(&self, good: impl Fn(&str) -> bool) -> Option<String> {
        match &self.value {
            UncheckedValue::Text(text) if good(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// The form for error messages: short, on one line, and only the kind of a compound value.
    pub fn shown(&self) -> String {
        match &self.value {
            UncheckedValue::Text(text) => quoted(text),
            UncheckedValue::Boolean(value) => value.to_string(),
            UncheckedValue::Integer(value) => value.to_string(),
            UncheckedValue::Number(text) => text.chars().take(40).collect(),
            UncheckedValue::Time(text) => format!("the date {text}"),
            UncheckedValue::List(_) | UncheckedValue::Table(_) => self.kind().into(),
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
pub struct LineIndex<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    pub fn of(text: &'a str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(index, _)| index + 1)).collect();
        Self { text, starts }
    }

    pub fn position(&self, offset: usize) -> TextPosition {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line - 1];
        let column = self.text.get(start..offset).map_or(offset - start, |before| before.chars().count()) + 1;
        TextPosition { line, column }
    }
}

/// The entries of a parsed table, in the order they were written.
pub fn table(table: &DeTable<'_>, lines: &LineIndex<'_>) -> Vec<ConfigEntry> {
    let mut entries: Vec<_> = table.iter().collect();
    base::sort::sort_by_key(&mut entries, |(key, _)| key.span().start);
    entries
        .into_iter()
        .map(|(key, value)| ConfigEntry {
            key: key.get_ref().to_string(),
            key_at: Some(lines.position(key.span().start)),
            found: value_of(value, lines),
        })
        .collect()
}

fn value_of(value: &Spanned<DeValue<'_>>, lines: &LineIndex<'_>) -> LocatedValue {
    let written = match value.get_ref() {
        DeValue::String(text) => UncheckedValue::Text(text.to_string()),
        DeValue::Boolean(value) => UncheckedValue::Boolean(*value),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(value) => UncheckedValue::Integer(value),
            Err(_) => UncheckedValue::Number(number.to_string()),
        },
        DeValue::Float(number) => UncheckedValue::Number(number.as_str().to_owned()),
        DeValue::Datetime(time) => UncheckedValue::Time(time.to_string()),
        DeValue::Array(items) => UncheckedValue::List(items.iter().map(|item| value_of(item, lines)).collect()),
        DeValue::Table(inner) => UncheckedValue::Table(table(inner, lines)),
    };
    LocatedValue { at: Some(lines.position(value.span().start)), value: written }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_become_lines_and_columns_of_characters() {
        let lines = LineIndex::of("a\nüb = 1\n");
        assert_eq!(lines.position(0), TextPosition { line: 1, column: 1 });
        assert_eq!(lines.position(2), TextPosition { line: 2, column: 1 });
        assert_eq!(lines.position(4), TextPosition { line: 2, column: 2 });
        assert_eq!(lines.position(999), TextPosition { line: 3, column: 1 });
    }

    #[test]
    fn quotes_are_short_and_harmless() {
        assert_eq!(quoted("a\u{1b}[2J"), r#""a\u{1b}[2J""#);
        assert_eq!(quoted(&"x".repeat(100)).chars().count(), 83);
    }
}
