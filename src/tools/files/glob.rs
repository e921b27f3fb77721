//! Patterns for names: `*`, `?`, `[a-z]`, `[!a-z]`, and `**` across folders. A backslash takes the next letter as it is.
//!
//! All positions in the pattern that can be right are followed at once: no pattern takes longer than its length times
//! that of the name.

use crate::error::ToolError;

/// Longest pattern, in characters.
pub const LONGEST: usize = 256;

enum Token {
    One(char),
    /// `?`: any letter but `/`.
    Any,
    /// `[...]`: whether it is a "none of these", and the ranges.
    Class(bool, Vec<(char, char)>),
    /// `*`: any number of letters, no `/`.
    Star,
    /// `**`: any number of letters.
    Everything,
    /// `**/`: nothing, or whole folders.
    Folders,
}

/// A pattern that was understood.
pub struct Glob {
    tokens: Vec<Token>,
    /// It has a `/`, so it is about paths; otherwise about names.
    whole_path: bool,
}

impl Glob {
    /// # Errors
    /// `invalid_argument` for a class that is never closed and a backslash at the end.
    pub fn parse(pattern: &str) -> Result<Self, ToolError> {
        let bad = |why: &str| ToolError::invalid(format!("the pattern {why}")).with("parameter", "pattern");
        let mut rest = pattern.chars().peekable();
        let mut tokens = Vec::new();
        while let Some(letter) = rest.next() {
            tokens.push(match letter {
                '?' => Token::Any,
                '*' if rest.next_if_eq(&'*').is_some() => {
                    if rest.next_if_eq(&'/').is_some() {
                        Token::Folders
                    } else {
                        Token::Everything
                    }
                }
                '*' => Token::Star,
                '\\' => Token::One(rest.next().ok_or_else(|| bad("ends with a backslash"))?),
                '[' => {
                    let none_of = rest.next_if(|next| matches!(next, '!' | '^')).is_some();
                    let mut ranges = Vec::new();
                    loop {
                        let first = rest.next().ok_or_else(|| bad("has a [ without its ]"))?;
                        // A ] right after the [ is one of the letters.
                        if first == ']' && !ranges.is_empty() {
                            break;
                        }
                        let mut ahead = rest.clone();
                        let last = match (ahead.next(), ahead.next()) {
                            (Some('-'), Some(last)) if last != ']' => {
                                rest = ahead;
                                last
                            }
                            _ => first,
                        };
                        ranges.push((first, last));
                    }
                    Token::Class(none_of, ranges)
                }
                other => Token::One(other),
            });
        }
        Ok(Self { tokens, whole_path: pattern.contains('/') })
    }

    /// Whether the path, relative to where the list begins, is meant.
    pub fn fits(&self, path: &str) -> bool {
        let text = if self.whole_path { path } else { path.rsplit('/').next().unwrap_or(path) };
        let mut at = vec![false; self.tokens.len() + 1];
        at[0] = true;
        self.skip(&mut at, true);
        for letter in text.chars() {
            let mut next = vec![false; at.len()];
            for (index, token) in self.tokens.iter().enumerate().filter(|(index, _)| at[*index]) {
                match token {
                    Token::One(wanted) => next[index + 1] |= *wanted == letter,
                    Token::Any => next[index + 1] |= letter != '/',
                    Token::Class(none_of, ranges) => {
                        let within = ranges.iter().any(|(first, last)| (*first..=*last).contains(&letter));
                        next[index + 1] |= letter != '/' && within != *none_of;
                    }
                    Token::Star => next[index] |= letter != '/',
                    Token::Everything | Token::Folders => next[index] = true,
                }
            }
            at = next;
            self.skip(&mut at, letter == '/');
        }
        at[self.tokens.len()]
    }

    /// What may stand for nothing is left behind. `folder_begins`: a name begins here.
    fn skip(&self, at: &mut [bool], folder_begins: bool) {
        for (index, token) in self.tokens.iter().enumerate() {
            let may_end = match token {
                Token::Star | Token::Everything => true,
                Token::Folders => folder_begins,
                _ => false,
            };
            at[index + 1] |= at[index] && may_end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_shells_mean() {
        for (pattern, yes, no) in [
            ("*.log", vec!["a.log", ".log", "d/x.log"], vec!["a.log.1", "log"]),
            ("a?c", vec!["abc", "aüc"], vec!["ac", "abbc"]),
            ("[a-c]x", vec!["ax", "cx"], vec!["dx", "x"]),
            ("[!a-c]x", vec!["dx"], vec!["ax", "x"]),
            ("[]x]", vec!["]", "x"], vec!["[", ""]),
            ("[a-]", vec!["a", "-"], vec!["b"]),
            ("d/*.txt", vec!["d/a.txt"], vec!["a.txt", "d/e/a.txt", "e/d/a.txt"]),
            ("**/a.txt", vec!["a.txt", "d/a.txt", "d/e/a.txt"], vec!["ba.txt", "d/ba.txt"]),
            ("d/**", vec!["d/a", "d/e/f"], vec!["d", "e/d"]),
            ("d/**/f", vec!["d/f", "d/e/f"], vec!["d/ef", "f"]),
            ("\\*", vec!["*"], vec!["a"]),
            ("", vec![""], vec!["a"]),
            ("**", vec!["", "a", "a/b"], vec![]),
        ] {
            let glob = Glob::parse(pattern).unwrap();
            assert!(yes.iter().all(|path| glob.fits(path)), "{pattern} should fit {yes:?}");
            assert!(!no.iter().any(|path| glob.fits(path)), "{pattern} should fit none of {no:?}");
        }
        assert!(Glob::parse("[a").is_err() && Glob::parse("a\\").is_err());
    }

    #[test]
    fn no_pattern_is_slow() {
        let glob = Glob::parse(&"*a".repeat(LONGEST / 2)).unwrap();
        let started = std::time::Instant::now();
        assert!(!glob.fits(&("a".repeat(4000) + "b")));
        assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    }
}
