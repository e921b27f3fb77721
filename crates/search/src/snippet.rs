//! The lines of a chunk that answer best, with their numbers.

use crate::{question::Reading, text::words};
use base::redact::cut;

/// Lines of a snippet, at most.
const LINES: usize = 6;
/// Characters of a line, at most.
const LINE: usize = 240;

/// Some lines of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    /// Whole lines; long ones end with `…`.
    pub text: String,
    /// The first line's number in the document, from 1.
    pub line_start: u32,
    pub line_end: u32,
}

/// Of `text`, which begins at line `first`: the window of lines with the most different words of the question.
pub fn of(text: &str, first: u32, reading: &Reading) -> Snippet {
    let lines: Vec<&str> = text.lines().collect();
    let hits: Vec<u32> = lines.iter().map(|line| hit(line, reading)).collect();
    let best = |window: &usize| {
        let end = (window + LINES).min(lines.len());
        let all = hits[*window..end].iter().fold(0, |all, line| all | line);
        // Among equals, the one that begins with a hit, and the first.
        (all.count_ones(), hits[*window] != 0, std::cmp::Reverse(*window))
    };
    let start = (0..lines.len()).max_by_key(best).unwrap_or(0);
    let end = (start + LINES).min(lines.len());
    // Lines behind the last hit say less.
    let last = (start..end).rev().find(|at| hits[*at] != 0).map_or(end, |at| (at + 2).min(end));
    let shown: Vec<String> = lines[start..last].iter().map(|line| cut(line, LINE)).collect();
    let number = |at: usize| first + u32::try_from(at).unwrap_or(u32::MAX - first);
    Snippet { text: shown.join("\n"), line_start: number(start), line_end: number(last.saturating_sub(1).max(start)) }
}

/// Which of the first 32 terms a line has, one bit each.
fn hit(line: &str, reading: &Reading) -> u32 {
    words(line).fold(0, |hits, word| {
        let same = |term: &String| {
            let term = term.trim_end_matches('*');
            // As stemming would see it, roughly: "crashed" and "crash".
            word == term || term.len() >= 4 && word.starts_with(term) || word.len() >= 4 && term.starts_with(&word)
        };
        let found = reading.terms.iter().take(32).enumerate().filter(|(_, term)| same(term));
        found.fold(hits, |hits, (at, _)| hits | 1 << at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_with_most_words_are_shown_under_their_numbers() {
        let text: String = (1..=20).map(|number| format!("line {number}\n")).collect();
        let text = text.replace("line 12", "the pump starts").replace("line 14", "a pump and a valve");
        let terms = ["valve", "pump"].map(str::to_owned).to_vec();
        let snippet = of(&text, 100, &Reading { terms, ..Reading::default() });
        assert_eq!((snippet.line_start, snippet.line_end), (111, 114));
        assert_eq!(snippet.text, "the pump starts\nline 13\na pump and a valve\nline 15");
        assert_eq!(of("one", 7, &Reading::default()), Snippet { text: "one".into(), line_start: 7, line_end: 7 });
        assert!(of(&"x".repeat(500), 1, &Reading::default()).text.ends_with('…'));
    }
}
