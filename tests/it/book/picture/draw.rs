//! A conversation as an SVG picture that reads like a terminal.

/// Columns of text; longer lines are broken at spaces.
const COLUMNS: usize = 88;
/// Sizes in user units: the tenths of a character, a line, the margin.
const CHARACTER_TENTHS: usize = 84;
const LINE: usize = 20;
const MARGIN: usize = 16;

pub enum Line {
    /// What happens, in a person's words.
    Note(String),
    /// What the assistant sends.
    Call(String),
    Answer(String),
    Refusal(String),
    /// What the owner types.
    Owner(String),
    /// What that prints.
    Printed(String),
    Gap,
}

impl Line {
    /// Class, mark in front of the first line, and text.
    fn parts(&self) -> (&str, &str, &str) {
        match self {
            Self::Note(text) => ("note", "", text),
            Self::Call(text) => ("call", "assistant > ", text),
            Self::Answer(text) => ("answer", "raspi-mcp < ", text),
            Self::Refusal(text) => ("refusal", "raspi-mcp < ", text),
            Self::Owner(text) => ("owner", "owner     $ ", text),
            Self::Printed(text) => ("printed", "            ", text),
            Self::Gap => ("", "", ""),
        }
    }
}

/// Lines of at most `width` characters. Words stay whole, but for those that are longer; leading spaces stay.
fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for (n, word) in text.split(' ').enumerate() {
        let mut word: Vec<char> = word.chars().collect();
        let last = lines.last().expect("it begins with one");
        if !last.is_empty() && last.chars().count() + 1 + word.len() > width {
            lines.push(String::new());
        } else if n > 0 {
            lines.last_mut().expect("one").push(' ');
        }
        while word.len() > width {
            let rest = word.split_off(width);
            lines.last_mut().expect("one").extend(word);
            lines.push(String::new());
            word = rest;
        }
        lines.last_mut().expect("one").extend(word);
    }
    lines
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The picture. Colours are those of a dark terminal, and readable for whoever confuses red and green.
pub fn draw(conversation: &[Line]) -> String {
    let mut rows = Vec::new();
    let conversation = conversation.iter().skip_while(|line| matches!(line, Line::Gap));
    for line in conversation {
        let (class, mark, text) = line.parts();
        for (n, part) in broken(text, COLUMNS - mark.len()).into_iter().enumerate() {
            let mark = if n == 0 { mark.to_owned() } else { " ".repeat(mark.len()) };
            rows.push((class, format!("{mark}{part}")));
        }
    }
    let width = (CHARACTER_TENTHS * COLUMNS).div_ceil(10) + 2 * MARGIN;
    let height = rows.len() * LINE + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"A conversation of an assistant, raspi-mcp and its owner\">\n<style>\n\
         text {{ font: 14px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; white-space: pre; fill: #c9d1d9 }}\n\
         .note {{ fill: #8b949e; font-style: italic }}\n.call {{ fill: #79c0ff }}\n.refusal {{ fill: #ffb86b }}\n.owner {{ fill: #f0f6fc; font-weight: bold }}\n\
         </style>\n<rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#0d1117\"/>\n"
    );
    for (n, (class, text)) in rows.iter().enumerate().filter(|(_, (_, text))| !text.trim().is_empty()) {
        let y = MARGIN + n * LINE + 14;
        let tenths = text.chars().count() * CHARACTER_TENTHS;
        let length = format!("{}.{}", tenths / 10, tenths % 10);
        svg.push_str(&format!(
            "<text class=\"{class}\" x=\"{MARGIN}\" y=\"{y}\" xml:space=\"preserve\" textLength=\"{length}\" \
             lengthAdjust=\"spacingAndGlyphs\">{}</text>\n",
            escaped(text)
        ));
    }
    svg + "</svg>\n"
}

#[test]
fn long_lines_are_broken_at_spaces() {
    assert_eq!(broken("one two three", 7), ["one two", "three"]);
    assert_eq!(broken("abcdefghij", 4), ["abcd", "efgh", "ij"]);
    assert_eq!(broken("  indented", 20), ["  indented"]);
}

#[test]
fn text_is_not_markup() {
    assert!(draw(&[Line::Answer("a <b> & c".to_owned())]).contains("a &lt;b&gt; &amp; c"));
}
