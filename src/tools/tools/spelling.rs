//! Misspelled words of a question: the known word that was probably meant.

use contract::config::nearest_within;
use std::collections::BTreeSet;

/// All words that a question could mean.
#[derive(Default)]
pub(super) struct Vocabulary(BTreeSet<String>);

impl Vocabulary {
    pub fn add(&mut self, words: impl Iterator<Item = String>) {
        self.0.extend(words.filter(|word| word.chars().count() >= SHORTEST));
    }

    /// The word that takes the fewest edits from `word`: one in a word of four to seven letters, two in a longer one, none in a
    /// shorter one, where most words are an edit apart.
    pub fn nearest(&self, word: &str) -> Option<&str> {
        let edits = match word.chars().count() {
            ..SHORTEST => return None,
            SHORTEST..8 => 1,
            _ => 2,
        };
        nearest_within(edits, word, self.0.iter().map(String::as_str))
    }
}

const SHORTEST: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_word_may_have_more_wrong_letters() {
        let mut words = Vocabulary::default();
        words.add(["fan", "light", "temperature"].map(str::to_owned).into_iter());
        assert_eq!(words.nearest("ligth"), Some("light"));
        assert_eq!(words.nearest("temprature"), Some("temperature"));
        assert_eq!(words.nearest("tempertaur"), Some("temperature"));
        assert_eq!(words.nearest("lghts"), None);
        assert_eq!(words.nearest("fun"), None);
    }
}
