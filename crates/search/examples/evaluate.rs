//! How well the index finds what it should: nDCG@10 beside plain BM25 of FTS5, and the time of a question.
//!
//! `cargo run --release --manifest-path crates/search/Cargo.toml --example evaluate -- FOLDER QUESTIONS`: a folder of texts, and lines of
//! a question, a tab and the name of the text that answers it. Manual pages are good texts, and short descriptions of packages
//! with one command, without its name, good questions: other people wrote them.
#![expect(clippy::unwrap_used, reason = "a measurement may end loudly")]

use rusqlite::{Connection, params};
use search::{Corpus, Document, SearchIndex, SearchQuery, Stamp, chunks, words};
use std::{collections::BTreeMap, env, fs, time::Instant};

/// Ranks that count.
const RANKS: usize = 10;

fn main() {
    let args: Vec<String> = env::args().collect();
    let (folder, questions) = (&args[1], fs::read_to_string(&args[2]).unwrap());
    let mut texts = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        texts.insert(name, String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned());
    }
    let mut index = SearchIndex::in_memory().unwrap();
    let plain = Connection::open_in_memory().unwrap();
    plain
        .execute_batch("CREATE VIRTUAL TABLE plain USING fts5(name UNINDEXED, text, tokenize = 'porter unicode61')")
        .unwrap();
    let mut pieces = 0;
    for (name, text) in &texts {
        let all = chunks(text, false);
        pieces += all.len();
        let document =
            Document { namespace: "man", path: name, stamp: Stamp::default(), etag: "", lang: None, chunks: &all };
        index.put(Corpus::Files, &document).unwrap();
        for chunk in &all {
            plain.execute("INSERT INTO plain VALUES (?1, ?2)", params![name, chunk.text]).unwrap();
        }
    }
    println!("{} texts, {pieces} passages", texts.len());
    let questions: Vec<(&str, &str)> = questions.lines().filter_map(|line| line.split_once('\t')).collect();
    for slip in [false, true] {
        let asked: Vec<(String, &str)> = questions
            .iter()
            .map(|(question, right)| (if slip { slipped(question) } else { (*question).to_owned() }, *right))
            .collect();
        let (mut times, mut plain_times) = (Vec::new(), Vec::new());
        let ours = score(&asked, |question| {
            let began = Instant::now();
            let reading = index.read(Corpus::Files, question).unwrap();
            let namespaces = ["man".to_owned()];
            let query = SearchQuery {
                corpus: Corpus::Files,
                namespaces: &namespaces,
                path_prefix: None,
                lang: None,
                top_k: 50,
            };
            let found = index.find(query, &reading).unwrap();
            times.push(began.elapsed());
            found.into_iter().map(|found| found.path).collect()
        });
        let theirs = score(&asked, |question| {
            let terms: Vec<String> = words(question).map(|word| format!("\"{word}\"")).collect();
            if terms.is_empty() {
                return Vec::new();
            }
            let began = Instant::now();
            let mut query =
                plain.prepare_cached("SELECT name FROM plain WHERE plain MATCH ?1 ORDER BY rank LIMIT 50").unwrap();
            let found = query.query_map([terms.join(" OR ")], |row| row.get(0)).unwrap();
            let found = found.map(Result::unwrap).collect();
            plain_times.push(began.elapsed());
            found
        });
        times.sort();
        plain_times.sort();
        let what = if slip { "one slip each" } else { "as written" };
        println!(
            "{} questions, {what}: nDCG@10 {ours:.3}, plain BM25 {theirs:.3}, ratio {:.3}; p50 {:.2} ms, p95 {:.2} ms; plain p50 {:.2} ms",
            asked.len(),
            ours / theirs,
            times[times.len() / 2].as_secs_f64() * 1e3,
            times[times.len() * 95 / 100].as_secs_f64() * 1e3,
            plain_times[plain_times.len() / 2].as_secs_f64() * 1e3,
        );
    }
}

/// The mean of 1 / log2(1 + rank) of the right text, each text counted once.
fn score(questions: &[(String, &str)], mut find: impl FnMut(&str) -> Vec<String>) -> f64 {
    let gain = |(question, right): &(String, &str)| {
        let mut names: Vec<String> = Vec::new();
        for name in find(question) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let rank = names.iter().take(RANKS).position(|name| name == right);
        rank.map_or(0.0, |rank| 1.0 / (rank as f64 + 2.0).log2())
    };
    questions.iter().map(gain).sum::<f64>() / questions.len() as f64
}

/// The question with two letters in the middle of its longest word exchanged.
fn slipped(question: &str) -> String {
    let longest =
        question.split_whitespace().max_by_key(|word| word.chars().filter(|c| c.is_alphabetic()).count()).unwrap_or("");
    let mut letters: Vec<char> = longest.chars().collect();
    let middle = letters.len() / 2;
    if letters.len() >= 4 {
        letters.swap(middle, middle - 1);
    }
    question.replacen(longest, &letters.iter().collect::<String>(), 1)
}
