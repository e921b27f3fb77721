//! Names with `*` and `?` in them, as allow-lists and filters write them.

/// A pattern: `*` stands for any run of characters, `?` for one, everything else for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glob<'a>(pub &'a str);

impl Glob<'_> {
    /// Whether all of `text` fits.
    pub fn fits(self, text: &str) -> bool {
        let (pattern, text) = (self.0.as_bytes(), text.as_bytes());
        let (mut p, mut t) = (0, 0);
        // Where to go back to: after the last star, and the text it began with. One is enough, so this is never worse than
        // the product of both lengths.
        let mut star: Option<(usize, usize)> = None;
        while t < text.len() {
            match pattern.get(p) {
                Some(b'*') => {
                    star = Some((p + 1, t));
                    p += 1;
                }
                Some(wanted) if *wanted == b'?' || *wanted == text[t] => {
                    p += 1;
                    t += 1;
                }
                _ => match &mut star {
                    Some((after, begun)) => {
                        *begun += 1;
                        (p, t) = (*after, *begun);
                    }
                    None => return false,
                },
            }
        }
        pattern[p..].iter().all(|left| *left == b'*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, good, bad) in [
            ("web.service", "web.service", "web.services"),
            ("web-*.service", "web-1.service", "web.service"),
            ("*", "", "\u{0}"),
            ("?at", "cat", "at"),
            ("*a*b*", "xxaxxbxx", "xxbxxaxx"),
            ("*.service", "a.service.service", "a.service.socket"),
            ("getty@tty?.service", "getty@tty1.service", "getty@tty10.service"),
        ] {
            assert!(Glob(pattern).fits(good), "{pattern} {good}");
            assert!(pattern == "*" || !Glob(pattern).fits(bad), "{pattern} {bad}");
        }
        assert!(Glob("").fits("") && !Glob("").fits("a") && !Glob("a").fits(""));
        // Many stars are no reason to take long.
        assert!(!Glob(&"*a".repeat(100)).fits(&"a".repeat(99)));
    }
}
