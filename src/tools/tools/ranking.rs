//! Which tools fit a question, best first: SQLite's full-text search (FTS5) over names, descriptions and `words.txt`.
//!
//! The table is in memory and made for each question: some 70 rows are quick to write, and a server that nobody asks keeps
//! nothing. One word in common is enough to be found; BM25 puts the rarer words and the more telling columns first.

use super::spelling::Vocabulary;
use crate::{
    compressed::{self, Compressed},
    registry::entry::Entry,
};
use contract::meta::Declaration;
use rusqlite::{Connection, params};
use search::split;
use std::sync::Arc;

/// `tool: word word ...`, a line for each tool: the length of `words.txt`, and the file compressed by zstd.
const WORDS: Compressed = include!(concat!(env!("OUT_DIR"), "/words.rs"));
/// The same for the tools of the console.
#[cfg(feature = "console")]
const FLEET_WORDS: &str = include_str!("fleet_words.txt");
#[cfg(not(feature = "console"))]
const FLEET_WORDS: &str = "";
/// Words that say nothing about which tool is wanted, beside the usual ones.
const STOP_WORDS: &str = "check display find see show tell";

/// English stemming, so that "crashed" finds "crash" (SQLite's FTS5 documentation, section 4.3.3).
const TABLE: &str =
    "CREATE VIRTUAL TABLE tools USING fts5(name, title, words, summary, details, tokenize = 'porter unicode61')";
/// What a word weighs in each of the columns, in the table's order.
const SCORES: &str = "SELECT rowid, bm25(tools, 6.0, 4.0, 5.0, 2.0, 0.7) FROM tools WHERE tools MATCH ?1";
/// What a word counts that only begins like a known one, beside one that is known.
const PREFIX: f64 = 0.7;
/// What a word counts that was read as another one.
const CORRECTED: f64 = 0.5;
/// A tool that scores less than this part of the best one's score has little to do with the question.
const RELEVANT: f64 = 0.25;

/// The answer to one question.
pub(super) struct Ranking {
    /// Best first, each with its score.
    pub tools: Vec<(Arc<Entry>, f64)>,
    /// How the words were read: pairs of what was written and what was searched for instead.
    pub corrected: Vec<(String, String)>,
    /// Words that no tool has.
    pub unknown: Vec<String>,
}

impl Ranking {
    /// The tools among these that `wanted` takes, without those that score far below the best of them.
    pub fn relevant(&self, wanted: impl Fn(&Declaration<'_>) -> bool) -> Vec<Arc<Entry>> {
        let mut rest = self.tools.iter().filter(|(entry, _)| wanted(&entry.meta())).peekable();
        let least = rest.peek().map_or(0.0, |(_, best)| best * RELEVANT);
        rest.take_while(|(_, score)| *score >= least).map(|(entry, _)| Arc::clone(entry)).collect()
    }
}

/// Ranks `tools` by the words of `question`.
///
/// # Errors
/// Those of SQLite: out of memory.
pub(super) fn rank(mut tools: Vec<Arc<Entry>>, question: &str) -> rusqlite::Result<Ranking> {
    base::sort::sort_by(&mut tools, |a, b| a.name().cmp(b.name()));
    let (table, vocabulary) = indexed(&tools)?;
    let mut ranking = Ranking { tools: Vec::new(), corrected: Vec::new(), unknown: Vec::new() };
    let mut terms: Vec<(String, f64)> = Vec::new();
    for word in telling(question) {
        let term = if matches(&table, &exact(&word))? {
            (exact(&word), 1.0)
        } else if word.len() >= 3 && matches(&table, &prefix(&word))? {
            (prefix(&word), PREFIX)
        } else if let Some(known) = vocabulary.nearest(&word) {
            let term = exact(known);
            ranking.corrected.push((word, known.to_owned()));
            (term, CORRECTED)
        } else {
            ranking.unknown.push(word);
            continue;
        };
        if !terms.contains(&term) {
            terms.push(term);
        }
    }
    ranking.tools = best_first(&table, &tools, &terms)?;
    Ok(ranking)
}

/// The table of these tools, a row each with the tool's place as its number, and the words in it.
fn indexed(tools: &[Arc<Entry>]) -> rusqlite::Result<(Connection, Vocabulary)> {
    let mut connection = Connection::open_in_memory()?;
    let mut vocabulary = Vocabulary::default();
    let tx = connection.transaction()?;
    tx.execute_batch(TABLE)?;
    let words = words();
    {
        let mut insert = tx.prepare(
            "INSERT INTO tools (rowid, name, title, words, summary, details) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        for (row, entry) in (0_u32..).zip(tools) {
            let meta = entry.meta();
            let name = meta.name.replace(['.', '_'], " ");
            let (summary, details) = meta.description.split_once('\n').unwrap_or((meta.description, ""));
            let people = format!("{} {}", line_of(&words, meta.name).unwrap_or_default(), meta.tags.join(" "));
            for text in [name.as_str(), meta.title, &people, summary] {
                vocabulary.add(split(text));
            }
            insert.execute(params![row, name, meta.title, people, summary, details])?;
        }
    }
    tx.commit()?;
    Ok((connection, vocabulary))
}

/// `words.txt`, decompressed: to be read once for all tools.
pub fn words() -> String {
    compressed::text(WORDS)
}

/// The line of `words.txt` for this tool.
pub fn line_of<'a>(words: &'a str, tool: &str) -> Option<&'a str> {
    words.lines().chain(FLEET_WORDS.lines()).find_map(|line| line.strip_prefix(tool)?.strip_prefix(':'))
}

fn matches(table: &Connection, term: &str) -> rusqlite::Result<bool> {
    table.prepare_cached("SELECT 1 FROM tools WHERE tools MATCH ?1 LIMIT 1")?.exists([term])
}

/// The tools that have one of the terms at least. BM25 of several terms is the sum of theirs, so each can have a weight.
fn best_first(
    table: &Connection,
    tools: &[Arc<Entry>],
    terms: &[(String, f64)],
) -> rusqlite::Result<Vec<(Arc<Entry>, f64)>> {
    let mut scores = vec![0.0; tools.len()];
    let mut query = table.prepare(SCORES)?;
    for (term, weight) in terms {
        let mut rows = query.query([term])?;
        while let Some(row) = rows.next()? {
            // FTS5 gives better matches lower numbers: all are negative.
            if let Some(score) = scores.get_mut(row.get::<_, u32>(0)? as usize) {
                *score -= row.get::<_, f64>(1)? * weight;
            }
        }
    }
    let mut found: Vec<_> = tools.iter().cloned().zip(scores).filter(|(_, score)| *score > 0.0).collect();
    base::sort::sort_by(&mut found, |(_, a), (_, b)| b.total_cmp(a));
    Ok(found)
}

/// An FTS5 string: letters and digits only, so nothing in it is an operator.
fn exact(word: &str) -> String {
    format!("\"{word}\"")
}

fn prefix(word: &str) -> String {
    format!("\"{word}\"*")
}

/// The words of a question that say something about a tool.
fn telling(question: &str) -> Vec<String> {
    search::telling(question, STOP_WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Arc<Entry>> {
        crate::tools::NAMESPACES.iter().copied().flatten().map(|row| Arc::new(Entry::from(row))).collect()
    }

    #[test]
    fn every_tool_has_a_line_of_words_and_every_line_a_tool() {
        let names: Vec<&str> = crate::tools::NAMESPACES.iter().copied().flatten().map(|row| row.name()).collect();
        let words = words();
        let lines: Vec<&str> =
            words.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(':').next().unwrap()).collect();
        assert!(lines.is_sorted(), "words.txt is sorted by name");
        let without: Vec<_> = names.iter().filter(|name| !lines.contains(name)).collect();
        let of_none: Vec<_> = lines.iter().filter(|name| !names.contains(name)).collect();
        assert!(
            without.is_empty() && of_none.is_empty(),
            "src/tools/tools/words.txt has no line for {without:?}, and lines for tools that do not exist: {of_none:?}"
        );
    }

    #[test]
    fn a_question_is_cut_into_the_words_that_say_something() {
        assert_eq!(telling("Is the Wi-Fi up?"), ["wi", "fi", "wifi", "up"]);
        assert_eq!(telling("what is it"), ["what", "is", "it"]);
        assert_eq!(telling("\"*(NEAR) gpio.write_pin\""), ["near", "gpio", "write", "pin"]);
    }

    #[test]
    fn stems_beginnings_and_misspelled_words_are_found_and_what_was_read_is_told() {
        let first =
            |question: &str| rank(all(), question).unwrap().tools.first().map(|(entry, _)| entry.name().to_owned());
        assert_eq!(first("pinging").as_deref(), Some("network.ping"));
        assert_eq!(first("i2cdet").as_deref(), Some("i2c.scan_bus"));
        assert_eq!(first("rebot").as_deref(), Some("system.reboot"));
        let ranking = rank(all(), "qwzxv rebot").unwrap();
        assert_eq!(ranking.corrected, [("rebot".to_owned(), "reboot".to_owned())]);
        assert_eq!(ranking.unknown, ["qwzxv"]);
        assert!(rank(all(), "qwzxv").unwrap().tools.is_empty());
        assert!(rank(all(), "?!").unwrap().tools.is_empty());
    }

    #[test]
    fn a_word_inside_another_word_is_not_found() {
        let ranking = rank(all(), "led").unwrap();
        let found: Vec<_> = ranking.relevant(|_| true).iter().map(|entry| entry.name().to_owned()).collect();
        assert!(!found.is_empty() && found.iter().all(|name| name.starts_with("gpio.")), "{found:?}");
    }
}
