//! Cuts a text into chunks: whole lines, with their numbers and the headings above them.

/// Words of a chunk, at most; one line may have more.
const WORDS: usize = 180;
/// Lines of a chunk, at most.
const LINES: usize = 60;
/// Bytes of one line that count; the rest of it is data.
const LINE_BYTES: usize = 4096;

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The headings above it, or nothing.
    pub title: String,
    pub text: String,
    /// Its first line, from 1.
    pub line_start: u32,
    /// Its last line.
    pub line_end: u32,
}

/// Cuts `text`. `headed`: lines that begin with `#` are headings, as in Markdown.
pub fn chunks(text: &str, headed: bool) -> Vec<Chunk> {
    let mut all = Vec::new();
    let mut headings: Vec<(usize, String)> = Vec::new();
    let mut open = Open::default();
    let mut fenced = false;
    for (number, line) in (1..).zip(text.lines()) {
        if headed {
            fenced ^= line.trim_start().starts_with("```");
            if let Some((level, title)) = heading(line).filter(|_| !fenced) {
                open.close(&headings, &mut all);
                headings.retain(|(above, _)| *above < level);
                headings.push((level, title.to_owned()));
            }
        }
        let line = &line[..floor(line, LINE_BYTES)];
        let count = line.split_whitespace().count();
        if open.lines >= LINES || open.lines > 0 && open.words + count > WORDS {
            open.close(&headings, &mut all);
        }
        open.add(number, line, count);
    }
    open.close(&headings, &mut all);
    all
}

/// The largest index up to `most` that is between two characters.
fn floor(line: &str, most: usize) -> usize {
    (0..=most.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0)
}

/// Level and text of a Markdown heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    ((1..=6).contains(&level) && text.starts_with(' ')).then(|| (level, text.trim()))
}

/// The chunk that is being filled.
#[derive(Default)]
struct Open {
    text: String,
    first: u32,
    last: u32,
    lines: usize,
    words: usize,
}

impl Open {
    fn add(&mut self, number: u32, line: &str, words: usize) {
        // Empty lines before a chunk belong to none.
        if self.lines == 0 {
            if words == 0 {
                return;
            }
            self.first = number;
        }
        self.text.push_str(line);
        self.text.push('\n');
        self.last = number;
        self.lines += 1;
        self.words += words;
    }

    fn close(&mut self, headings: &[(usize, String)], all: &mut Vec<Chunk>) {
        let open = std::mem::take(self);
        if open.words == 0 {
            return;
        }
        let title: Vec<&str> = headings.iter().map(|(_, title)| title.as_str()).collect();
        let text = open.text.trim_end();
        // Empty lines at its end belong to none either.
        let line_end = open.first + u32::try_from(text.lines().count().saturating_sub(1)).unwrap_or(0);
        all.push(Chunk { title: title.join(" "), text: text.to_owned(), line_start: open.first, line_end });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_numbers_and_headings() {
        let text = "\nintro\n\n# One\ntext\n\n## Two\n\n```\n# no heading\n```\n# Three\nmore\n";
        let all = chunks(text, true);
        let seen: Vec<_> = all.iter().map(|chunk| (chunk.title.as_str(), chunk.line_start, chunk.line_end)).collect();
        assert_eq!(seen, [("", 2, 2), ("One", 4, 5), ("One Two", 7, 11), ("Three", 12, 13)]);
        for chunk in &all {
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(chunk.text, lines[chunk.line_start as usize - 1..chunk.line_end as usize].join("\n"));
        }
        assert_eq!(chunks("# One\n", false).len(), 1);
        assert!(chunks("\n \n", true).is_empty() && chunks("", true).is_empty());
    }

    #[test]
    fn a_long_text_is_cut_and_nothing_of_it_is_lost() {
        let text: String = (0..1000).map(|number| format!("w{number} one two three\n")).collect();
        let all = chunks(&text, false);
        assert!(all.iter().all(|chunk| chunk.text.split_whitespace().count() <= WORDS));
        let joined: Vec<&str> = all.iter().flat_map(|chunk| chunk.text.lines()).collect();
        assert_eq!(joined.len(), 1000);
        let long = "é".repeat(5000);
        assert_eq!(chunks(&long, false)[0].text.len(), 4096);
    }
}
