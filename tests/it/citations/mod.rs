//! What comments and documents cite is in the repository: no paper that nobody can look up, no link, path or decision that leads
//! nowhere.

mod decisions;
mod links;
mod names;
mod papers;
mod paths;

use regex_lite::Regex;
use std::{
    fs,
    path::{Path, PathBuf},
};

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Folders with what is made, what others wrote, and bytes that programs are fed with. The schemas are made of comments.
const NOT_READ: [&str; 8] = [
    "target",
    "build",
    ".git",
    "schemas",
    "node_modules",
    "tests/fixtures/trees",
    "tests/fuzz/corpus",
    "tests/proptest-regressions",
];

/// History names files as they were.
const HISTORY: [&str; 1] = ["CHANGELOG.md"];

/// A file of the repository that is text.
struct Text {
    /// From the repository's top.
    path: PathBuf,
    text: String,
}

impl Text {
    fn is_markdown(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "md")
    }

    /// Each line that a person reads, with its number: all of a document, of a program its comments.
    fn prose(&self) -> impl Iterator<Item = (usize, &str)> {
        let mark = match self.path.extension().and_then(|extension| extension.to_str()) {
            Some("md" | "txt") => None,
            Some("rs" | "dts" | "c" | "js" | "ts") => Some("//"),
            _ => Some("#"),
        };
        let lines = self.text.lines().enumerate().map(|(n, line)| (n + 1, line));
        lines.filter_map(move |(n, line)| Some((n, mark.map_or(Some(line), |mark| comment(line, mark))?)))
    }
}

/// What stands behind `mark`, where that begins a word: `https://` is no comment.
fn comment<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let mut places = line.match_indices(mark).map(|(at, _)| at);
    let at = places.find(|at| *at == 0 || line[..*at].ends_with([' ', '\t']))?;
    Some(&line[at + mark.len()..])
}

/// Every text of the repository but the licences and lists that a package manager wrote.
fn texts() -> Vec<Text> {
    let mut paths = Vec::new();
    walk(&here(), &mut paths);
    paths.sort();
    let texts: Vec<Text> = paths
        .into_iter()
        .filter_map(|path| Some(Text { text: fs::read_to_string(here().join(&path)).ok()?, path }))
        .collect();
    assert!(texts.len() > 500 && texts.iter().any(Text::is_markdown), "only {} texts: not all was read", texts.len());
    texts
}

fn walk(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let entry = entry.expect("a readable entry");
        let path = entry.path();
        let short = path.strip_prefix(here()).expect("below the top").to_owned();
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().expect("a kind");
        let not_ours = name.starts_with("LICENSE") || name.contains("lock") && !name.ends_with(".rs");
        if kind.is_dir() && !NOT_READ.iter().any(|not| short == Path::new(not) || name == *not) {
            walk(&path, into);
        } else if kind.is_file() && !not_ours {
            into.push(short);
        }
    }
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|fault| panic!("{pattern}: {fault}"))
}

fn none(wrong: Vec<String>, what: &str) {
    assert!(wrong.is_empty(), "{what}:\n{}", wrong.join("\n"));
}

#[test]
fn comments_are_found_and_addresses_are_none() {
    assert_eq!(comment("let a = 1; // why", "//"), Some(" why"));
    assert_eq!(comment("/// doc", "//"), Some("/ doc"));
    assert_eq!(comment("let a = \"https://example.org\"; // why", "//"), Some(" why"));
    assert_eq!(comment("let a = \"https://example.org\";", "//"), None);
    assert_eq!(comment("echo $#", "#"), None);
}
