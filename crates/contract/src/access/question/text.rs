//! An ask as lines of text, for a terminal and for a client's dialogue.
//!
//! Text of a caller is always quoted, in ASCII: everything else is spelled out as `\u{..}`, so that nothing can be invisible, turn
//! the line around or pass for another letter. Lines are wrapped here and not by the terminal: what goes on begins with `»`, which
//! no text of a caller can hold, and what is not shown stands in `<...>` outside of quotes.

use super::{AskRequest, Mark, Marks};
use serde_json::Value;

/// Narrower screens wrap by themselves, and the mark still tells.
const NARROWEST: usize = 40;
/// Longer lines are not read.
const WIDEST: usize = 160;
/// Spaces in a row that are shown as spaces.
const MOST_SPACES: usize = 2;

/// A longer name is quoted, and so can be parted.
const LONGEST_NAME: usize = 32;

/// Tool, caller, summary and arguments of `request`, for a screen of `width` columns. Every line ends with a newline.
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

/// `text` on one line: quoted, in ASCII, with everything else spelled out.
pub fn quoted(text: &str) -> String {
    let mut row = Row::default();
    quote(text, &mut row);
    row.text
}

/// Pieces of text that a line may end between, and nowhere else.
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
    /// One line of pieces that are never parted, and as many more as it takes.
    fn row(&mut self, indent: usize, fill: impl FnOnce(&mut Row)) {
        let mut row = Row::default();
        fill(&mut row);
        let (mut column, mut start, mut before) = (indent, 0, "");
        self.text.extend(std::iter::repeat_n(' ', indent));
        for end in row.ends {
            let piece = &row.text[start..end];
            // A line of the caller's text is a line here.
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

    /// `key = value`, or the key and below it what it holds.
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
            // Whoever sent it may have written anything there.
            quote(sha256, row);
            words("; it begins> ", row);
            quote(head, row);
            words(" <and ends> ", row);
            quote(tail, row);
        }
    }
}

/// A name that needs no quotes, or one with them.
fn name(text: &str, row: &mut Row) {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '@' | '/');
    if !text.is_empty() && text.len() <= LONGEST_NAME && text.chars().all(plain) {
        row.push(text);
    } else {
        quote(text, row);
    }
}

/// `text` in quotes, a piece a character. No backslash of the text stays alone, so each that does is ours.
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
