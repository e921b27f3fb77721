//! How a question is read: its telling words, and what is searched for in place of words that no document has.

use crate::{Corpus, SearchIndex, text::telling};
use base::nearest::distance;
use std::cmp::Reverse;

/// Shortest word that may be misspelled, in letters: of shorter ones most are an edit apart.
const SHORTEST: usize = 4;
/// Words in place of one misspelled word, at most.
const CANDIDATES: usize = 3;
/// Words of a question that count, at most.
const MOST: usize = 32;
/// Passages that the rarest words of a question may have together: by those the passages are chosen that all words then rank.
/// Ranking a passage is most of the work, and a word of many passages says little.
const TELLING: i64 = 2000;

/// A question as it is searched for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// What is searched for: words, and beginnings of words that end with `*`.
    pub terms: Vec<String>,
    /// How the words were read: pairs of what was written and what is searched for instead.
    pub corrected: Vec<(String, String)>,
    /// Words that no document has.
    pub unknown: Vec<String>,
    /// In how many passages each of the terms is, in their order.
    pub(crate) passages: Vec<i64>,
    /// In how many passages each word of the question is, by the rarest of the terms that stand for it; 0 for an unknown one.
    pub(crate) words: Vec<i64>,
}

impl Reading {
    /// The FTS5 expression of all terms: one word is enough. `None` without a term.
    pub(crate) fn expression(&self) -> Option<String> {
        any_of(self.terms.iter())
    }

    /// The same of the rarest two, and of as many more as are in [`TELLING`] passages together; `None` if these are all.
    pub(crate) fn telling(&self) -> Option<String> {
        let mut rarest: Vec<(i64, &String)> = self.passages.iter().copied().zip(&self.terms).collect();
        base::sort::sort(&mut rarest);
        let mut sum = 0;
        let few = |(at, (passages, _)): &(usize, &(i64, &String))| {
            sum += passages;
            *at < 2 || sum <= TELLING
        };
        let taken = rarest.iter().enumerate().take_while(few).count();
        any_of(rarest[..taken].iter().map(|(_, term)| *term)).filter(|_| taken < rarest.len())
    }

    fn add(&mut self, term: String, passages: i64) {
        if !self.terms.contains(&term) {
            self.terms.push(term);
            self.passages.push(passages);
        }
    }
}

/// Terms are letters and digits, so nothing is an operator.
fn any_of<'a>(terms: impl Iterator<Item = &'a String>) -> Option<String> {
    let all: Vec<String> = terms.map(|term| quoted(term)).collect();
    (!all.is_empty()).then(|| all.join(" OR "))
}

fn quoted(term: &str) -> String {
    match term.strip_suffix('*') {
        Some(beginning) => format!("\"{beginning}\"*"),
        None => format!("\"{term}\""),
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
            let passages = self.passages(corpus, &word)?;
            if passages > 0 {
                reading.words.push(passages);
                reading.add(word, passages);
                continue;
            }
            let nearest = self.nearest(corpus, &word)?;
            let beginning = format!("{word}*");
            if !nearest.is_empty() {
                let mut rarest = i64::MAX;
                for known in nearest {
                    let passages = self.passages(corpus, &known)?;
                    rarest = rarest.min(passages);
                    reading.add(known.clone(), passages);
                    reading.corrected.push((word.clone(), known));
                }
                reading.words.push(rarest);
                continue;
            }
            let passages = if word.chars().count() < SHORTEST { 0 } else { self.passages(corpus, &beginning)? };
            reading.words.push(passages);
            if passages > 0 {
                reading.add(beginning, passages);
            } else {
                reading.unknown.push(word);
            }
        }
        Ok(reading)
    }

    /// The most that BM25 can give a passage of this corpus for a question, by its words: each word's inverse document frequency,
    /// as FTS5 has it (sqlite.org/fts5.html, "The bm25() function"), times the 2.2 that a word repeated for ever comes to. A word
    /// that no passage has counts like one that a single passage might have: the corpus lacks what was asked for.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn reach(&self, corpus: Corpus, reading: &Reading) -> rusqlite::Result<f64> {
        /// `k1 + 1` of FTS5.
        const MOST_OF_A_WORD: f64 = 2.2;
        let all: i64 = self
            .connection
            .prepare_cached("SELECT count(*) FROM chunks c JOIN documents d ON d.id = c.document WHERE d.corpus = ?1")?
            .query_row([corpus.table()], |row| row.get(0))?;
        let frequency = |passages: &i64| {
            let (all, having) = (all as f64, *passages as f64);
            // FTS5 gives a word of more than half the passages next to nothing, and never less.
            ((all - having + 0.5) / (having + 0.5)).ln().max(1e-6)
        };
        Ok(reading.words.iter().map(frequency).sum::<f64>() * MOST_OF_A_WORD)
    }

    /// How many passages have a term.
    fn passages(&self, corpus: Corpus, term: &str) -> rusqlite::Result<i64> {
        let table = corpus.table();
        self.connection
            .prepare_cached(&format!("SELECT count(*) FROM {table} WHERE {table} MATCH ?1"))?
            .query_row([quoted(term)], |row| row.get(0))
    }

    /// The known words with the fewest edits from `word`, those of most chunks first: one edit in a word of four to seven letters,
    /// two in a longer one.
    fn nearest(&self, corpus: Corpus, word: &str) -> rusqlite::Result<Vec<String>> {
        let edits = match word.chars().count() {
            ..SHORTEST => return Ok(Vec::new()),
            SHORTEST..8 => 1,
            _ => 2,
        };
        // Most slips leave the first letter as it is, and words that begin so are together.
        let first: String = word.chars().take(1).collect();
        let mut found = Vec::new();
        self.near(corpus, word, edits, (&first, &format!("{first}{}", char::MAX)), &mut found)?;
        if !found.iter().any(|(away, ..)| *away == 1) {
            found.clear();
            self.near(corpus, word, edits, ("", &char::MAX.to_string()), &mut found)?;
        }
        base::sort::sort(&mut found);
        let best = found.first().map_or(0, |(away, ..)| *away);
        found.retain(|(away, ..)| *away == best);
        Ok(found.into_iter().take(CANDIDATES).map(|(.., word)| word).collect())
    }

    /// Those between two words, with their edits.
    fn near(
        &self,
        corpus: Corpus,
        word: &str,
        edits: usize,
        between: (&str, &str),
        found: &mut Vec<(usize, Reverse<i64>, String)>,
    ) -> rusqlite::Result<()> {
        let (letters, has) = (word.chars().count(), signature(word));
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT word, chunks FROM {}_words WHERE word BETWEEN ?1 AND ?2",
            corpus.table()
        ))?;
        let mut rows = query.query(between)?;
        while let Some(row) = rows.next()? {
            let known = row.get_ref(0)?.as_str().unwrap_or_default();
            // An edit takes one letter and brings one, at most. A word that begins and ends differently is seldom a slip of this one.
            if known.chars().count().abs_diff(letters) > edits
                || (signature(known) ^ has).count_ones() as usize > 2 * edits
                || known.as_bytes().first() != word.as_bytes().first()
                    && known.as_bytes().last() != word.as_bytes().last()
            {
                continue;
            }
            let away = distance(word, known);
            if away <= edits {
                found.push((away, Reverse(row.get(1)?), known.to_owned()));
            }
        }
        Ok(())
    }
}

/// Which letters a word has, a bit each; some share one.
fn signature(word: &str) -> u64 {
    word.chars().fold(0, |all, letter| all | 1 << (u32::from(letter) % 64))
}
