//! `docs/decisions`: numbers are unique, states are one of the words, successors exist, and the index is that of the files.
//! `BLESS=1` writes the index.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// A file of one topic has fewer lines than this; a longer one is two topics.
const LONGEST_FILE: usize = 400;
const INDEX: &str = "README.md";
/// The lines before the first row of the index.
const HEAD: &str = "## Index\n\n| number | topic | title | state |\n| --- | --- | --- | --- |\n";

struct Decision {
    topic: String,
    title: String,
    state: String,
    /// What was decided and why.
    text: String,
}

impl Decision {
    fn names(&self, number: u32) -> bool {
        self.text.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.parse() == Ok(number))
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/decisions")
}

/// Every file of the folder by its name, sorted.
fn files() -> BTreeMap<String, String> {
    let files: BTreeMap<String, String> = fs::read_dir(folder())
        .expect("docs/decisions")
        .map(|entry| entry.expect("a readable entry"))
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).expect("UTF-8 text")))
        .collect();
    assert!(files.contains_key(INDEX) && files.len() > 1, "topics beside the index, not {:?}", files.keys());
    files
}

/// `State: narrowed by 7, 9. Date: 2026-11-21.` as the state and the date.
fn state_and_date(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("State: ")?.strip_suffix('.')?.split_once(". Date: ")
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let digits = |part: &str, length: usize| part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.len() == 3 && digits(parts[0], 4) && digits(parts[1], 2) && digits(parts[2], 2)
}

/// The numbers after `narrowed by` or `superseded by`; none for `accepted`, and nothing for any other word.
fn successors(state: &str) -> Option<Vec<u32>> {
    if state == "accepted" {
        return Some(Vec::new());
    }
    let numbers = state.strip_prefix("narrowed by ").or_else(|| state.strip_prefix("superseded by "))?;
    numbers.split(", ").map(|number| number.parse().ok()).collect()
}

/// All decisions of the topics. Says in which file what is wrong with one.
fn decisions() -> BTreeMap<u32, Decision> {
    let mut all: BTreeMap<u32, Decision> = BTreeMap::new();
    for (file, text) in files().iter().filter(|(file, _)| *file != INDEX) {
        let topic = file.strip_suffix(".md").unwrap_or_else(|| panic!("{file} is not a Markdown file"));
        let mut last = 0;
        for decision in text.split("\n## ").skip(1) {
            let mut lines = decision.lines();
            let heading = lines.next().unwrap_or_default();
            let (number, title) =
                heading.split_once(". ").unwrap_or_else(|| panic!("{file}: no number in {heading:?}"));
            let number: u32 = number.parse().unwrap_or_else(|_| panic!("{file}: {number:?} is not a number"));
            assert!(number > last, "{file}: {number} comes after {last}");
            last = number;
            let line = lines.find(|line| !line.is_empty()).unwrap_or_default();
            let (state, date) =
                state_and_date(line).unwrap_or_else(|| panic!("{file}, {number}: no state in {line:?}"));
            assert!(is_date(date), "{file}, {number}: {date:?} is not a date such as 2026-11-21");
            let text = lines.collect::<Vec<_>>().join("\n");
            assert!(!text.trim().is_empty(), "{file}, {number}: nothing says what was decided");
            let decision = Decision { topic: topic.to_owned(), title: title.to_owned(), state: state.to_owned(), text };
            if let Some(other) = all.insert(number, decision) {
                panic!("{number} is in {} and in {file}", other.topic);
            }
        }
        assert!(last > 0, "{file} has no decision");
    }
    all
}

#[test]
fn states_are_one_of_the_words_and_their_successors_name_what_they_change() {
    let all = decisions();
    for (number, Decision { topic, state, .. }) in &all {
        let successors = successors(state).unwrap_or_else(|| panic!("{topic}.md, {number}: {state:?} is not a state"));
        for successor in successors {
            assert_ne!(successor, *number, "{topic}.md, {number} changes itself");
            let named = all.get(&successor).map(|successor| successor.names(*number));
            assert_ne!(named, None, "{topic}.md, {number}: there is no decision {successor}");
            assert_eq!(named, Some(true), "decision {successor} does not say that it changes {number}");
        }
    }
}

#[test]
fn the_index_lists_every_decision_in_order() {
    let rows: String = decisions()
        .iter()
        .map(|(number, Decision { topic, title, state, .. })| {
            format!("| {number} | [{topic}]({topic}.md) | {title} | {state} |\n")
        })
        .collect();
    let text = &files()[INDEX];
    let (before, index) = text.split_once(HEAD).expect("the heading of the index and of its columns");
    if std::env::var_os("BLESS").is_some() {
        fs::write(folder().join(INDEX), format!("{before}{HEAD}{rows}")).expect("a writable index");
        return;
    }
    let differs = index.lines().zip(rows.lines()).find(|(is, should)| is != should);
    assert_eq!(differs, None, "the index has another row than the files; BLESS=1 writes it");
    assert_eq!(index.lines().count(), rows.lines().count(), "rows in the index; BLESS=1 writes it");
}

#[test]
fn the_index_names_every_topic() {
    let files = files();
    let (topics, _) = files[INDEX].split_once(HEAD).expect("the heading of the index");
    for file in files.keys().filter(|file| *file != INDEX) {
        assert!(topics.contains(&format!("| [{file}]({file}) |")), "{file} is missing under \"Topics\"");
    }
}

#[test]
fn no_file_is_longer_than_a_topic_may_be() {
    // The index is no topic: a row for each decision, written by the test above.
    for (file, text) in files().iter().filter(|(file, _)| *file != INDEX) {
        let lines = text.lines().count();
        assert!(lines < LONGEST_FILE, "{file} has {lines} lines");
    }
}
