//! Formats an ask as lines of text, for a terminal and for a client's dialogue.
//!
//! A caller's text is always quoted, in ASCII. Other characters are escaped as `\u{..}`, so that nothing is invisible,
//! changes the direction of the line or looks like another letter. Lines are wrapped here, not by the terminal. A
//! continued line begins with `»`, which a caller's text cannot contain, and what is not shown is in `<...>` outside of
//! quotes.

use super::{AskRequest, Mark, Marks};
use serde_json::Value;

/// Minimum width. Narrower screens wrap the lines themselves; the `»` still marks continued lines.
const NARROWEST: usize = 40;
/// Maximum width that is readable.
const WIDEST: usize = 160;
/// Maximum number of consecutive spaces shown as such.
const MOST_SPACES: usize = 2;

/// Longer names are quoted, so that they can be wrapped.
const LONGEST_NAME: usize = 32;

/// Formats tool, caller, summary and arguments of `request` for a screen of `width` columns. Every line ends with a
/// newline.
pub fn lines(request: &AskRequest, width: usize) -> String {
    let mut page = Page { text: String::new(), width: width.clamp(NARROWEST, WIDEST) };
    for (title, text) in [("tool      ", &request.tool), ("caller    ", &request.principal)] {
        page.row(2, |row| {
            row.push(title);
            name(text, row);
        });
    }
    page.row(2, |row| {
        row.push("what      ");
        quote(&request.summary, row);
    });
    match request.args.as_object().filter(|args| !args.is_empty()) {
        None => page.text.push_str("  arguments none\n"),
        Some(args) => {
            page.text.push_str("  arguments\n");
            for (key, value) in args {
                page.entry(2, Some(key), 0, value, &format!("/{}", escaped(key)), &request.marks);
            }
        }
    }
    page.text
}

/// `text` on one line: quoted, in ASCII, with other characters escaped.
pub fn quoted(text: &str) -> String {
    let mut row = Row::default();
    quote(text, &mut row);
    row.text
}

/// Text in pieces. A line is wrapped only between two pieces.
#[derive(Default)]
struct Row {
    text: String,
    ends: Vec<usize>,
}

impl Row {
    fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
        self.ends.push(self.text.len());
    }
}

struct Page {
    text: String,
    width: usize,
}

impl Page {
    /// Writes one row, wrapped between its pieces.
    fn row(&mut self, indent: usize, fill: impl FnOnce(&mut Row)) {
        let mut row = Row::default();
        fill(&mut row);
        let (mut column, mut start, mut before) = (indent, 0, "");
        self.text.extend(std::iter::repeat_n(' ', indent));
        for end in row.ends {
            let piece = &row.text[start..end];
            // A newline in the caller's text starts a new line here.
            let ended = before == "\\n" && piece != "\"";
            (start, before) = (end, piece);
            if ended || (column + piece.len() > self.width && column > indent + 2) {
                self.text.push('\n');
                self.text.extend(std::iter::repeat_n(' ', indent + 2));
                self.text.push_str("» ");
                column = indent + 4;
            }
            self.text.push_str(piece);
            column += piece.len();
        }
        self.text.push('\n');
    }

    /// Writes `key = value`, or the key with its members indented below it.
    fn entry(&mut self, depth: usize, key: Option<&str>, index: usize, value: &Value, at: &str, marks: &Marks) {
        let indent = 2 * depth;
        let head = |row: &mut Row| match key {
            Some(key) => name(key, row),
            None => row.push(&format!("[{index}]")),
        };
        match value {
            Value::Object(map) if !map.is_empty() => {
                self.row(indent, head);
                for (key, item) in map {
                    self.entry(depth + 1, Some(key), 0, item, &format!("{at}/{}", escaped(key)), marks);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                self.row(indent, head);
                for (index, item) in items.iter().enumerate() {
                    self.entry(depth + 1, None, index, item, &format!("{at}/{index}"), marks);
                }
            }
            value => self.row(indent, |row| {
                head(row);
                row.push(" = ");
                match (marks.get(at).filter(|_| value.is_null()), value) {
                    (Some(mark), _) => marked(mark, row),
                    (None, Value::String(text)) => quote(text, row),
                    (None, value) => row.push(&value.to_string()),
                }
            }),
        }
    }
}

fn marked(mark: &Mark, row: &mut Row) {
    let words = |text: &str, row: &mut Row| text.split_inclusive(' ').for_each(|word| row.push(word));
    match mark {
        Mark::Hidden { characters } => words(&format!("<hidden: {characters} characters>"), row),
        Mark::Cut { bytes, sha256, head, tail } => {
            words(&format!("<cut: {bytes} bytes, SHA-256 "), row);
            // Quoted, because its sender could have written anything here.
            quote(sha256, row);
            words("; it begins> ", row);
            quote(head, row);
            words(" <and ends> ", row);
            quote(tail, row);
        }
    }
}

/// Writes a name, in quotes if it needs them.
fn name(text: &str, row: &mut Row) {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '@' | '/');
    if !text.is_empty() && text.len() <= LONGEST_NAME && text.chars().all(plain) {
        row.push(text);
    } else {
        quote(text, row);
    }
}

/// Writes `text` in quotes, one piece per character. Backslashes in the text are doubled, so a single one is an escape
/// written here.
fn quote(text: &str, row: &mut Row) {
    row.push("\"");
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let piece = match c {
            ' ' => {
                let mut count = 1;
                while rest.next_if_eq(&' ').is_some() {
                    count += 1;
                }
                if count > MOST_SPACES { format!("\\{{{count} spaces}}") } else { " ".repeat(count) }
            }
            '"' => "\\\"".into(),
            '\\' => "\\\\".into(),
            '\n' => "\\n".into(),
            '\r' => "\\r".into(),
            '\t' => "\\t".into(),
            '!'..='~' => c.to_string(),
            c => c.escape_unicode().to_string(),
        };
        row.push(&piece);
    }
    row.push("\"");
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
