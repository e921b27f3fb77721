//! Searches the journal's lines as they are shown: a pattern is compared with the text in which secrets are masked
//! already. journalctl's own `--grep` sees the raw text, so that whoever may search could read a secret letter by letter
//! from which patterns find its line (decision 528).

use super::journal_args::Pattern;
use base::error::ToolError;
use regex_lite::{Regex, RegexBuilder};

/// Most bytes of a compiled pattern. 256 letters need a third of it; with it, the longest message takes a tenth of a
/// second at most, whatever the pattern.
const LARGEST: usize = 64 * 1024;

/// A compiled pattern.
pub struct JournalGrep(Regex);

impl JournalGrep {
    /// Case does not count in a pattern without a capital letter, as for journalctl.
    ///
    /// # Errors
    /// `invalid_argument` for what is no regular expression, or is larger than the bound.
    pub fn of(pattern: &Pattern) -> Result<Self, ToolError> {
        let text = pattern.clone().into_text();
        let ignores_case = !text.chars().any(char::is_uppercase);
        RegexBuilder::new(&text).case_insensitive(ignores_case).size_limit(LARGEST).build().map(Self).map_err(|why| {
            ToolError::invalid(format!("the pattern is no regular expression that is taken here: {why}"))
                .with("parameter", "grep")
                .hint(
                    "a backslash before ( [ . * takes them as they are; there is no look-ahead, look-behind or \
                     back-reference",
                )
        })
    }

    /// Whether the text, masked and cut as it is shown, has it.
    pub fn fits(&self, shown: &str) -> bool {
        self.0.is_match(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grep(pattern: &str) -> Result<JournalGrep, ToolError> {
        JournalGrep::of(&Pattern::try_from(pattern.to_owned()).unwrap())
    }

    #[test]
    fn patterns_good_and_bad() {
        for (pattern, text, fits) in [
            ("disk", "the Disk is full", true),
            ("Disk", "the disk is full", false),
            ("^line [0-9]+$", "line 12", true),
            ("ü", "Müsik", true),
            (r"\(x\)", "(x)", true),
        ] {
            assert_eq!(grep(pattern).unwrap().fits(text), fits, "{pattern} {text}");
        }
        for bad in ["(", "a(?=b)", r"(a)\1", "x{1000}{1000}", &"\\w{200}".repeat(30)] {
            let error = grep(bad).err().expect(bad);
            assert!(error.data().to_string().contains("\"grep\""), "{bad}: {error}");
        }
    }
}
