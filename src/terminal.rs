//! Escapes text for terminals: text from callers, servers and files must not move the cursor, or hide or reorder text.
//!
//! [`printable`] is for one value on one line. [`out`], [`err`] and [`Stderr`] write to this process' own terminal, and
//! filter everything. If the stream is not a terminal, bytes are written unchanged, for programs.

use std::{
    borrow::Cow,
    fmt::{Arguments, Write as _},
    io::{self, IsTerminal, Write},
};

/// Characters that control a terminal or are invisible, besides [`char::is_control`] (C0, DEL and C1, so also ESC, CSI
/// and OSC): format characters (Unicode category Cf, which includes the bidirectional controls), line and paragraph
/// separators, and all others that are ignorable by default (Unicode 16, `Default_Ignorable_Code_Point`), sorted.
const UNSEEN: &[(char, char)] = &[
    ('\u{AD}', '\u{AD}'),
    ('\u{34F}', '\u{34F}'),
    ('\u{600}', '\u{605}'),
    ('\u{61C}', '\u{61C}'),
    ('\u{6DD}', '\u{6DD}'),
    ('\u{70F}', '\u{70F}'),
    ('\u{890}', '\u{891}'),
    ('\u{8E2}', '\u{8E2}'),
    ('\u{115F}', '\u{1160}'),
    ('\u{17B4}', '\u{17B5}'),
    ('\u{180B}', '\u{180F}'),
    ('\u{200B}', '\u{200F}'),
    ('\u{2028}', '\u{202E}'),
    ('\u{2060}', '\u{206F}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{FE00}', '\u{FE0F}'),
    ('\u{FEFF}', '\u{FEFF}'),
    ('\u{FFA0}', '\u{FFA0}'),
    ('\u{FFF0}', '\u{FFFB}'),
    ('\u{110BD}', '\u{110BD}'),
    ('\u{110CD}', '\u{110CD}'),
    ('\u{13430}', '\u{1343F}'),
    ('\u{1BCA0}', '\u{1BCA3}'),
    ('\u{1D173}', '\u{1D17A}'),
    ('\u{E0000}', '\u{E0FFF}'),
];

/// Whether `c` is not simply shown by a terminal.
pub fn is_unseen(c: char) -> bool {
    // Fast path: almost all characters are in this range.
    (!(' '..='~').contains(&c)) && (c.is_control() || UNSEEN.iter().any(|&(first, last)| (first..=last).contains(&c)))
}

/// `text` on one line; control and invisible characters, including newlines and tabs, as `\u{..}`.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unseen(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// `text` with its newlines and tabs; other control and invisible characters as `\uXXXX`, so that JSON keeps its
/// meaning.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| !matches!(c, '\n' | '\t') && is_unseen(c);
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if !obeyed(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Formatting into a String cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    Cow::Owned(out)
}

/// Whether standard output is a terminal.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Writes `text` to standard output, filtered if that is a terminal.
///
/// # Errors
/// If it cannot be written.
pub fn out(text: Arguments<'_>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    if stdout.is_terminal() { stdout.write_all(harmless(&text.to_string()).as_bytes()) } else { stdout.write_fmt(text) }
}

/// The same to standard error. A closed one is ignored.
pub fn err(text: Arguments<'_>) {
    let mut stderr = io::stderr().lock();
    let _ = if stderr.is_terminal() {
        stderr.write_all(harmless(&text.to_string()).as_bytes())
    } else {
        stderr.write_fmt(text)
    };
}

/// Standard error for the log, which writes one entry at a time: on a terminal each entry is one line.
#[derive(Clone, Copy, Debug)]
pub struct Stderr;

impl Write for Stderr {
    fn write(&mut self, entry: &[u8]) -> io::Result<usize> {
        let mut stderr = io::stderr().lock();
        if stderr.is_terminal() {
            stderr.write_all(one_line(entry).as_bytes())?;
        } else {
            stderr.write_all(entry)?;
        }
        Ok(entry.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

fn one_line(entry: &[u8]) -> String {
    let text = String::from_utf8_lossy(entry);
    let mut line = printable(text.strip_suffix('\n').unwrap_or(&text));
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a terminal obeys, or a reader does not see.
    const HOSTILE: &[&str] = &[
        "\u{1b}[2J",
        "\u{1b}]0;title\u{7}",
        "\u{9b}2J",
        "\u{9d}52;c;x\u{9c}",
        "\u{7f}",
        "\r",
        "\u{8}",
        "\u{0}",
        "\u{202e}",
        "\u{2066}",
        "\u{61c}",
        "\u{200b}",
        "\u{200d}",
        "\u{2028}",
        "\u{ad}",
        "\u{3164}",
        "\u{fe0f}",
        "\u{feff}",
        "\u{e0041}",
        "\u{1d173}",
    ];

    #[test]
    fn nothing_that_a_terminal_obeys_or_a_reader_cannot_see_is_left() {
        for text in HOSTILE {
            let whole = format!("a{text}b");
            for shown in [printable(&whole), harmless(&whole).into_owned(), one_line(whole.as_bytes())] {
                let line = shown.trim_end_matches('\n');
                assert!(!line.contains(is_unseen), "{line:?}");
                assert!(line.starts_with("a\\u") && line.ends_with('b'), "{line:?}");
            }
        }
        assert!(UNSEEN.windows(2).all(|pair| pair[0].1 < pair[1].0), "sorted, and none twice");
    }

    #[test]
    fn what_people_write_stays_as_it_is() {
        for text in ["naïve", "e\u{301}", "日本語", "हिन्दी", "עברית", "3 µs", "🍓", "\\u{41}", "a\u{a0}b"]
        {
            assert_eq!(printable(text), text);
            assert!(matches!(harmless(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn a_value_is_one_line_and_a_text_keeps_its_lines() {
        assert_eq!(printable("a\nb\tc"), "a\\u{a}b\\u{9}c");
        assert_eq!(harmless("a\n\tb\u{1b}"), "a\n\tb\\u001b");
        assert_eq!(one_line(b"INFO a\nERROR b\n"), "INFO a\\u{a}ERROR b\n");
        assert_eq!(one_line(b"\xff\n"), "\u{fffd}\n");
    }

    #[test]
    fn json_is_the_same_json_afterwards() {
        let value = serde_json::json!({ "text": HOSTILE.concat(), "\u{202e}name": [1, "\u{e0041}"] });
        for text in [value.to_string(), format!("{value:#}")] {
            let shown = harmless(&text);
            assert!(!shown.contains(|c| c != '\n' && is_unseen(c)));
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
    }
}
