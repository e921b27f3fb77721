//! How well the index finds what it should, beside plain BM25 of FTS5 over the same passages: nDCG@10, and the time of a question.
//!
//! `ci/bench-search` makes the texts and the questions and runs this: `evaluate FOLDER QUESTIONS MANUAL MANUAL-QUESTIONS...`, with a
//! folder of texts, lines of a question, a tab and the name of the text that answers it, and the same of the manual, where any of
//! the names that begin with `manual:` is right. It exits with 1 when a figure is below its limit.
#![expect(clippy::unwrap_used, reason = "a measurement may end loudly")]

use rusqlite::{Connection, params};
use search::{
    Chunk, Corpus, Document, Found, MAX_CHUNKS, PutOutcome, SearchIndex, SearchQuery, Stamp, chunks, joined, words,
};
use std::{
    collections::BTreeMap,
    env, fs,
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

/// Ranks that count.
const RANKS: usize = 10;
/// How good ours is beside plain BM25, at least.
const AS_WRITTEN: f64 = 1.0;
/// The same when every question has a slip.
const SLIPPED: f64 = 1.05;
/// The share of the manual's questions with a right page among the first three when all texts are searched as well, at least.
const BESIDE_FILES: f64 = 0.75;
/// How much worse a text may be found for it.
const BESIDE_MANUAL: f64 = 0.015;
/// A question is asked so many times, and its fastest answer counts: another program may have had the processor meanwhile.
const ROUNDS: usize = 3;
/// One question of so many is timed: plain BM25 takes its time.
const TIMED: usize = 2;
/// Bytes of a passage that is copied to fill the index, at most: its 32 MiB are full before its 20,000 passages, should all be long.
const SHORT: usize = 600;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().collect();
    let (folder, questions) = (&args[1], fs::read_to_string(&args[2]).unwrap());
    let questions: Vec<(&str, &str)> = questions.lines().filter_map(|line| line.split_once('\t')).collect();
    let mut texts = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        texts.insert(name, chunks(&String::from_utf8_lossy(&fs::read(entry.path()).unwrap()), false));
    }
    let mut both = Both::new();
    for (name, all) in &texts {
        assert_eq!(both.put(name, all), PutOutcome::Indexed, "{name}: the index is full");
    }
    println!("{} texts, {} passages, {} questions", texts.len(), both.passages, questions.len());
    let mut good = true;
    for (slip, least) in [(false, AS_WRITTEN), (true, SLIPPED)] {
        let asked: Vec<(String, &str)> = questions
            .iter()
            .map(|(question, right)| (if slip { slipped(question) } else { (*question).to_owned() }, *right))
            .collect();
        let (ours, plain) =
            (score(&asked, |question| both.ours(question)), score(&asked, |question| both.plain(question)));
        let what = if slip { "one slip each" } else { "as written" };
        println!("{what}: nDCG@10 {ours:.3}, plain BM25 {plain:.3}, ratio {:.3} (at least {least})", ours / plain);
        good &= ours >= least * plain;
    }
    good &= both.beside_the_manual(&args[3], &args[4..], &questions);
    both.fill(&texts);
    println!("filled with copies: {} passages, {} bytes", both.passages, both.index.bytes().unwrap());
    for slip in [false, true] {
        let asked: Vec<String> = questions
            .iter()
            .step_by(TIMED)
            .map(|(one, _)| if slip { slipped(one) } else { (*one).to_owned() })
            .collect();
        let (ours, plain) =
            (times(&asked, |question| both.ours(question)), times(&asked, |question| both.plain(question)));
        let what = if slip { "one slip each" } else { "as written" };
        println!(
            "{what}: p50 {:.2} ms, p95 {:.2} ms; plain BM25 p50 {:.2} ms, p95 {:.2} ms; ratio of p50 {:.2} (at most 1)",
            ours.0,
            ours.1,
            plain.0,
            plain.1,
            ours.0 / plain.0
        );
        good &= ours.0 <= plain.0;
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The same passages in our index and in a plain table.
struct Both {
    index: SearchIndex,
    plain: Connection,
    passages: usize,
}

impl Both {
    fn new() -> Self {
        let plain = Connection::open_in_memory().unwrap();
        plain
            .execute_batch("CREATE VIRTUAL TABLE plain USING fts5(name UNINDEXED, text, tokenize = 'porter unicode61')")
            .unwrap();
        Self { index: SearchIndex::in_memory().unwrap(), plain, passages: 0 }
    }

    fn put(&mut self, name: &str, all: &[Chunk]) -> PutOutcome {
        let document =
            Document { namespace: "man", path: name, stamp: Stamp::default(), etag: "", lang: None, chunks: all };
        let outcome = self.index.put(Corpus::Files, &document).unwrap();
        if outcome == PutOutcome::Indexed {
            let mut insert = self.plain.prepare_cached("INSERT INTO plain VALUES (?1, ?2)").unwrap();
            for chunk in all {
                insert.execute(params![name, chunk.text]).unwrap();
            }
            self.passages += all.len();
        }
        outcome
    }

    /// Searches the texts and the manual in `folder` together. Returns whether both are found.
    fn beside_the_manual(&mut self, folder: &str, files: &[String], texts: &[(&str, &str)]) -> bool {
        for (path, chunks) in pages(Path::new(folder)) {
            let stamp = Stamp::default();
            let page = Document { namespace: "manual", path: &path, stamp, etag: "", lang: None, chunks: &chunks };
            assert_eq!(self.index.put(Corpus::Manual, &page).unwrap(), PutOutcome::Indexed);
        }
        let asked: Vec<String> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
        let asked: Vec<(&str, Vec<&str>)> =
            asked.iter().flat_map(|text| text.lines()).filter_map(page_question).collect();
        let share = |find: &dyn Fn(&str) -> Vec<String>| {
            let right = |(question, pages): &&(&str, Vec<&str>)| {
                find(question).iter().take(3).any(|path| pages.contains(&path.as_str()))
            };
            asked.iter().filter(right).count() as f64 / asked.len() as f64
        };
        let alone = share(&|question| self.found(Corpus::Manual, question).0.into_iter().map(|one| one.path).collect());
        let beside = share(&|question| self.joined(question, 5));
        let ask = |(question, right): &(&str, &str)| {
            let texts: Vec<(String, &str)> = vec![((*question).to_owned(), *right)];
            (score(&texts, |question| self.ours(question)), score(&texts, |question| self.joined(question, 50)))
        };
        let gains: Vec<(f64, f64)> = texts.iter().map(ask).collect();
        let mean = |of: fn(&(f64, f64)) -> f64| gains.iter().map(of).sum::<f64>() / gains.len() as f64;
        let (before, after) = (mean(|gain| gain.0), mean(|gain| gain.1));
        println!(
            "{} questions about the manual, right among the first three: {alone:.3} alone, {beside:.3} beside the texts (at least \
             {BESIDE_FILES}); the texts: nDCG@10 {before:.3} alone, {after:.3} beside the manual (at most {BESIDE_MANUAL} less)",
            asked.len()
        );
        beside >= BESIDE_FILES && after >= before - BESIDE_MANUAL
    }

    fn found(&self, corpus: Corpus, question: &str) -> (Vec<Found>, f64) {
        let reading = self.index.read(corpus, question).unwrap();
        let namespaces = [if corpus == Corpus::Manual { "manual" } else { "man" }.to_owned()];
        let query = SearchQuery { corpus, namespaces: &namespaces, path_prefix: None, lang: None, top_k: 50 };
        (self.index.find(query, &reading).unwrap(), self.index.reach(corpus, &reading).unwrap())
    }

    fn joined(&self, question: &str, top_k: usize) -> Vec<String> {
        let (manual, files) = (self.found(Corpus::Manual, question), self.found(Corpus::Files, question));
        joined(manual, files, top_k).into_iter().map(|one| one.path).collect()
    }

    /// Puts in copies of short passages until the index is full.
    fn fill(&mut self, texts: &BTreeMap<String, Vec<Chunk>>) {
        for (name, all) in texts.iter().cycle() {
            let left = MAX_CHUNKS as usize - self.passages;
            let short = all.iter().filter(|chunk| chunk.text.len() <= SHORT).take(left).cloned().collect::<Vec<_>>();
            if left == 0 || self.put(&format!("copy/{}/{name}", self.passages), &short) == PutOutcome::Full {
                return;
            }
        }
    }

    fn ours(&self, question: &str) -> Vec<String> {
        let reading = self.index.read(Corpus::Files, question).unwrap();
        let namespaces = ["man".to_owned()];
        let query =
            SearchQuery { corpus: Corpus::Files, namespaces: &namespaces, path_prefix: None, lang: None, top_k: 50 };
        self.index.find(query, &reading).unwrap().into_iter().map(|found| found.path).collect()
    }

    fn plain(&self, question: &str) -> Vec<String> {
        let terms: Vec<String> = words(question).map(|word| format!("\"{word}\"")).collect();
        if terms.is_empty() {
            return Vec::new();
        }
        let mut query =
            self.plain.prepare_cached("SELECT name FROM plain WHERE plain MATCH ?1 ORDER BY rank LIMIT 50").unwrap();
        let found = query.query_map([terms.join(" OR ")], |row| row.get(0)).unwrap();
        found.map(Result::unwrap).collect()
    }
}

/// A line of the manual's questions, with the pages that answer it; `None` for a comment and for one that only tools answer.
fn page_question(line: &str) -> Option<(&str, Vec<&str>)> {
    let (question, right) = line.split_once('\t')?;
    let pages: Vec<&str> = right.split(' ').filter_map(|one| one.strip_prefix("manual:")).collect();
    (!pages.is_empty()).then_some((question, pages))
}

/// The manual's pages, as they are installed.
fn pages(folder: &Path) -> Vec<(String, Vec<Chunk>)> {
    let mut pages = Vec::new();
    for below in ["", "contract/"] {
        for entry in fs::read_dir(folder.join(below)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "md") {
                let name = format!("{below}{}", path.file_name().unwrap().to_str().unwrap());
                pages.push((name, chunks(&fs::read_to_string(&path).unwrap(), true)));
            }
        }
    }
    pages
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

/// p50 and p95 of a question, in milliseconds.
fn times(questions: &[String], mut find: impl FnMut(&str) -> Vec<String>) -> (f64, f64) {
    let mut fastest = |question: &String| {
        let once = |_| {
            let began = Instant::now();
            find(question);
            began.elapsed()
        };
        (0..ROUNDS).map(once).min().unwrap_or_default()
    };
    let mut all: Vec<Duration> = questions.iter().map(&mut fastest).collect();
    all.sort();
    let at = |percent: usize| all[all.len() * percent / 100].as_secs_f64() * 1e3;
    (at(50), at(95))
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
