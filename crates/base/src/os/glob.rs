//! Patterns for names and paths, in the three forms of allow-lists and filters.
//!
//! All possible positions in the pattern are tracked in parallel, so the time is bounded by the product of the two
//! lengths.

/// Longest pattern of a path that callers may give, in characters.
pub const LONGEST: usize = 256;

/// One step of a pattern.
enum Token {
    /// This character.
    One(char),
    /// `?`: one character.
    Any,
    /// `[...]`: whether it is negated, and the ranges.
    Class(bool, Vec<(char, char)>),
    /// `*` within a name: any characters except `/`.
    Star,
    /// Any characters.
    Everything,
    /// `**/`: zero or more whole folders.
    Folders,
}

/// The unit of comparison, and the part compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Bytes,
    Letters,
    /// A pattern without a `/`: the last component of a path.
    Name,
    /// A pattern with one: the whole path.
    Path,
}

/// A parsed pattern.
pub struct Glob {
    tokens: Vec<Token>,
    form: Form,
}

impl Glob {
    /// For allow-lists of units and cameras: `*` matches any sequence, `?` one byte.
    pub fn of_bytes(pattern: &str) -> Self {
        Self { tokens: stars(pattern.bytes().map(char::from)), form: Form::Bytes }
    }

    /// The same, but `?` matches one character.
    pub fn of_letters(pattern: &str) -> Self {
        Self { tokens: stars(pattern.chars()), form: Form::Letters }
    }

    /// For paths, as in shells: `*` and `?` without `/`, `[a-z]`, `[!a-z]`, and `**` across folders. A backslash
    /// escapes the next character. A pattern without `/` is matched against the last component of a path.
    ///
    /// # Errors
    /// What is wrong, to follow "the pattern": an unclosed class, a backslash at the end.
    pub fn of_paths(pattern: &str) -> Result<Self, &'static str> {
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
                '\\' => Token::One(rest.next().ok_or("ends with a backslash")?),
                '[' => {
                    let none_of = rest.next_if(|next| matches!(next, '!' | '^')).is_some();
                    let mut ranges = Vec::new();
                    loop {
                        let first = rest.next().ok_or("has a [ without its ]")?;
                        // A ] right after the [ is a member of the class.
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
        Ok(Self { tokens, form: if pattern.contains('/') { Form::Path } else { Form::Name } })
    }

    /// Whether all of `text` matches; a path must be relative to the pattern's folder.
    pub fn fits(&self, text: &str) -> bool {
        match self.form {
            Form::Bytes => self.fits_letters(text.bytes().map(char::from)),
            Form::Letters | Form::Path => self.fits_letters(text.chars()),
            Form::Name => self.fits_letters(text.rsplit('/').next().unwrap_or(text).chars()),
        }
    }

    fn fits_letters(&self, text: impl Iterator<Item = char>) -> bool {
        let any_has_slash = matches!(self.form, Form::Bytes | Form::Letters);
        let mut at = vec![false; self.tokens.len() + 1];
        let mut next = at.clone();
        at[0] = true;
        self.skip(&mut at, true);
        for letter in text {
            next.fill(false);
            for (index, token) in self.tokens.iter().enumerate().filter(|(index, _)| at[*index]) {
                match token {
                    Token::One(wanted) => next[index + 1] |= *wanted == letter,
                    Token::Any => next[index + 1] |= any_has_slash || letter != '/',
                    Token::Class(none_of, ranges) => {
                        let within = ranges.iter().any(|(first, last)| (*first..=*last).contains(&letter));
                        next[index + 1] |= letter != '/' && within != *none_of;
                    }
                    Token::Star => next[index] |= letter != '/',
                    Token::Everything | Token::Folders => next[index] = true,
                }
            }
            std::mem::swap(&mut at, &mut next);
            self.skip(&mut at, letter == '/');
            if !at.contains(&true) {
                return false;
            }
        }
        at[self.tokens.len()]
    }

    /// Skips tokens that may match nothing. `folder_begins`: a component begins here.
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

/// A pattern of `*` and `?` alone.
fn stars(pattern: impl Iterator<Item = char>) -> Vec<Token> {
    let token = |letter| match letter {
        '*' => Token::Everything,
        '?' => Token::Any,
        other => Token::One(other),
    };
    pattern.map(token).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_of_bytes() {
        for (pattern, good, bad) in [
            ("web.service", "web.service", "web.services"),
            ("web-*.service", "web-1.service", "web.service"),
            ("*", "", "\u{0}"),
            ("?at", "cat", "at"),
            ("*a*b*", "xxaxxbxx", "xxbxxaxx"),
            ("*.service", "a.service.service", "a.service.socket"),
            ("getty@tty?.service", "getty@tty1.service", "getty@tty10.service"),
            ("caf??", "café", "caf\u{20ac}"),
        ] {
            let glob = Glob::of_bytes(pattern);
            assert!(glob.fits(good), "{pattern} {good}");
            assert!(pattern == "*" || !glob.fits(bad), "{pattern} {bad}");
        }
        let fits = |pattern: &str, text: &str| Glob::of_bytes(pattern).fits(text);
        assert!(fits("", "") && !fits("", "a") && !fits("a", ""));
        // Many stars are no reason to take long.
        assert!(!fits(&"*a".repeat(100), &"a".repeat(99)));
    }

    #[test]
    fn stars_and_question_marks_of_letters() {
        for (pattern, good, bad) in [
            ("python*", "python3.11", "cpython"),
            ("*d", "systemd", "dash"),
            ("s?h", "ssh", "sh"),
            ("a*b*c", "aXbXbc", "aXbX"),
            ("[a-z]", "[a-z]", "q"),
            ("\\*", "\\a", "*"),
            ("a?c", "aüc", "abbc"),
            ("a?b*c", "a/b/c", "a/b"),
        ] {
            let glob = Glob::of_letters(pattern);
            assert!(glob.fits(good) && !glob.fits(bad), "{pattern}");
        }
        assert!(!Glob::of_letters(&"*a".repeat(60)).fits(&"b".repeat(120)), "and soon");
    }

    #[test]
    fn patterns_of_paths_mean_what_shells_mean() {
        for (pattern, yes, no) in [
            ("*.log", vec!["a.log", ".log", "d/x.log"], vec!["a.log.1", "log"]),
            ("a?c", vec!["abc", "aüc"], vec!["ac", "abbc"]),
            ("[a-c]x", vec!["ax", "cx"], vec!["dx", "x"]),
            ("[!a-c]x", vec!["dx"], vec!["ax", "x"]),
            ("[]x]", vec!["]", "x"], vec!["[", ""]),
            ("[a-]", vec!["a", "-"], vec!["b"]),
            ("d/*.txt", vec!["d/a.txt"], vec!["a.txt", "d/e/a.txt", "e/d/a.txt"]),
            ("d/?/f", vec!["d/e/f"], vec!["d///f"]),
            ("**/a.txt", vec!["a.txt", "d/a.txt", "d/e/a.txt"], vec!["ba.txt", "d/ba.txt"]),
            ("d/**", vec!["d/a", "d/e/f"], vec!["d", "e/d"]),
            ("d/**/f", vec!["d/f", "d/e/f"], vec!["d/ef", "f"]),
            ("\\*", vec!["*"], vec!["a"]),
            ("", vec![""], vec!["a"]),
            ("**", vec!["", "a", "a/b"], vec![]),
        ] {
            let glob = Glob::of_paths(pattern).unwrap();
            assert!(yes.iter().all(|path| glob.fits(path)), "{pattern} should fit {yes:?}");
            assert!(!no.iter().any(|path| glob.fits(path)), "{pattern} should fit none of {no:?}");
        }
        assert!(Glob::of_paths("[a").is_err() && Glob::of_paths("a\\").is_err());
    }

    #[test]
    fn no_pattern_is_slow() {
        let glob = Glob::of_paths(&"*a".repeat(LONGEST / 2)).unwrap();
        let started = std::time::Instant::now();
        assert!(!glob.fits(&("a".repeat(4000) + "b")));
        assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    }
}
