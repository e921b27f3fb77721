//! How a question is read: its telling words, and what is searched for in place of words that no document has.

use crate::{Corpus, SearchIndex, text::telling};
use base::nearest::distance;
use rusqlite::params;

/// Shortest word that may be misspelled, in letters: of shorter ones most are an edit apart.
const SHORTEST: usize = 4;
/// Words in place of one misspelled word, at most.
const CANDIDATES: usize = 3;
/// Words of a question that count, at most.
const MOST: usize = 32;

/// A question as it is searched for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// What is searched for: words, and beginnings of words that end with `*`.
    pub terms: Vec<String>,
    /// How the words were read: pairs of what was written and what is searched for instead.
    pub corrected: Vec<(String, String)>,
    /// Words that no document has.
    pub unknown: Vec<String>,
}

impl Reading {
    /// The FTS5 expression: one word is enough. `None` without a term. Terms are letters and digits, so nothing is an operator.
    pub(crate) fn expression(&self) -> Option<String> {
        let quoted = |term: &String| match term.strip_suffix('*') {
            Some(beginning) => format!("\"{beginning}\"*"),
            None => format!("\"{term}\""),
        };
        let terms: Vec<String> = self.terms.iter().map(quoted).collect();
        (!terms.is_empty()).then(|| terms.join(" OR "))
    }
}

impl SearchIndex {
    /// Reads a question for a corpus.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn read(&self, corpus: Corpus, question: &str) -> rusqlite::Result<Reading> {
        let mut reading = Reading::default();
        for word in telling(question, "").into_iter().take(MOST) {
            let mut add = |term: String| {
                if !reading.terms.contains(&term) {
                    reading.terms.push(term);
                }
            };
            if self.matches(corpus, &format!("\"{word}\""))? {
                add(word);
                continue;
            }
            let nearest = self.nearest(corpus, &word)?;
            if !nearest.is_empty() {
                for known in nearest {
                    add(known.clone());
                    reading.corrected.push((word.clone(), known));
                }
            } else if word.chars().count() >= SHORTEST && self.matches(corpus, &format!("\"{word}\"*"))? {
                add(format!("{word}*"));
            } else {
                reading.unknown.push(word);
            }
        }
        Ok(reading)
    }

    fn matches(&self, corpus: Corpus, expression: &str) -> rusqlite::Result<bool> {
        let table = corpus.table();
        self.connection
            .prepare_cached(&format!("SELECT 1 FROM {table} WHERE {table} MATCH ?1 LIMIT 1"))?
            .exists([expression])
    }

    /// The known words with the fewest edits from `word`, those of most chunks first: one edit in a word of four to seven letters,
    /// two in a longer one.
    fn nearest(&self, corpus: Corpus, word: &str) -> rusqlite::Result<Vec<String>> {
        let letters = word.chars().count();
        let edits = match letters {
            ..SHORTEST => return Ok(Vec::new()),
            SHORTEST..8 => 1,
            _ => 2,
        };
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT word, chunks FROM {}_words WHERE length(word) BETWEEN ?1 AND ?2",
            corpus.table()
        ))?;
        let mut rows = query.query(params![(letters - edits) as i64, (letters + edits) as i64])?;
        let mut found: Vec<(usize, std::cmp::Reverse<i64>, String)> = Vec::new();
        while let Some(row) = rows.next()? {
            let known = row.get_ref(0)?.as_str().unwrap_or_default();
            // A word that begins and ends differently is seldom a slip of this one, and looking is most of the work.
            if known.as_bytes().first() != word.as_bytes().first() && known.as_bytes().last() != word.as_bytes().last()
            {
                continue;
            }
            let away = distance(word, known);
            if away <= edits {
                found.push((away, std::cmp::Reverse(row.get(1)?), known.to_owned()));
            }
        }
        base::sort::sort(&mut found);
        let best = found.first().map_or(0, |(away, ..)| *away);
        found.retain(|(away, ..)| *away == best);
        Ok(found.into_iter().take(CANDIDATES).map(|(.., word)| word).collect())
    }
}
