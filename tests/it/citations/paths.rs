//! Paths of the repository that documents and comments name.

use super::{here, none, regex, texts};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A path from the top, where no longer path, address or name begins. Made files are in `build/`, which is not among these.
const PATH: &str = r#"(?:^|[\s(`"'\[|])((?:docs|src|ci|tests|dist|examples|schemas|crates|meta-raspi-mcp|buildroot-external)/[A-Za-z0-9_.{},*<>/-]+)"#;

/// Made when it is needed, and not committed.
const MADE: [&str; 1] = ["tests/fuzz/artifacts"];

/// Committed, and deleted by who wants a complete run (docs/ci.md).
const MAY_BE_DELETED: &str = "ci/passed.toml";

/// `a/{b,c}` as `a/b` and `a/c`.
pub fn expand(path: &str) -> Vec<String> {
    let parts = path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (names, after))) = parts else { return vec![path.to_owned()] };
    names.split(',').flat_map(|name| expand(&format!("{before}{name}{after}"))).collect()
}

/// Without what ends the sentence around it, and up to the first part with a wildcard or a placeholder.
fn plain(path: &str) -> &str {
    let path = path.trim_end_matches(['.', ',', '/']);
    let unknown = |part: &str| part.contains(['*', '<', '>']) || !part.contains(|letter: char| letter.is_lowercase());
    let mut end = 0;
    for part in path.split_inclusive('/') {
        if unknown(part.trim_end_matches('/')) && !part.contains('.') || part.contains(['*', '<', '>']) {
            break;
        }
        end += part.len();
    }
    path[..end].trim_end_matches('/')
}

/// Where a path of a source may be: from the top, in a crate, or in the crate that has the folder's name.
fn candidates(top: &Path, path: &str) -> Vec<PathBuf> {
    let mut all = vec![top.join(path)];
    let crates = fs::read_dir(top.join("crates")).into_iter().flatten().flatten();
    if ["src/", "tests/", "examples/"].iter().any(|folder| path.starts_with(folder)) {
        all.extend(crates.map(|one| one.path().join(path)));
    }
    if let Some((name, rest)) = path.strip_prefix("src/").map(|path| path.split_once('/').unwrap_or((path, ""))) {
        all.push(top.join("crates").join(name.replace('_', "-")).join("src").join(rest));
    }
    all
}

/// A module may be named without its ending, and a page by its folder's name.
fn exists(top: &Path, path: &str) -> bool {
    let with = |path: &Path, ending: &str| PathBuf::from(format!("{}{ending}", path.display())).exists();
    candidates(top, path).iter().any(|path| path.exists() || with(path, ".rs") || with(path, ".md"))
}

#[test]
fn every_path_that_is_named_is_there() {
    let (path, mut seen, mut wrong) = (regex(PATH), 0, Vec::new());
    for text in texts().iter().filter(|text| !super::HISTORY.iter().any(|history| text.path == Path::new(history))) {
        for (n, line) in text.prose().filter(|(_, line)| line.contains('/')) {
            for found in path.captures_iter(line).filter_map(|found| Some(found.get(1)?.as_str())) {
                for named in expand(found).iter().map(|path| plain(path)) {
                    seen += 1;
                    if !MADE.contains(&named) && named != MAY_BE_DELETED && !exists(&here(), named) {
                        wrong.push(format!("{}:{n}: {named}", text.path.display()));
                    }
                }
            }
        }
    }
    assert!(seen > 300, "only {seen} paths were found");
    none(wrong, "paths that are not there");
}

#[test]
fn a_path_is_looked_for_in_the_crates_as_well() {
    let top = tempfile::TempDir::new().unwrap();
    for file in ["src/cli/mod.rs", "crates/update/src/slots/mod.rs", "crates/base/src/clock.rs", "docs/a.md"] {
        let file = top.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
    }
    for good in ["src/cli", "src/clock.rs", "src/clock", "src/update/slots", "src/update", "docs/a", "crates/base"] {
        assert!(exists(top.path(), good), "{good}");
    }
    for bad in ["src/slots.rs", "src/cli/clock.rs", "docs/clock", "src/update/clock"] {
        assert!(!exists(top.path(), bad), "{bad}");
    }
}

#[test]
fn braces_are_expanded_and_wildcards_end_a_path() {
    assert_eq!(expand("tests/it/{a,b}/{c,d}.rs").len(), 4);
    let plain_ones = [
        ("docs/a.md.", "docs/a.md"),
        ("src/*/mod.rs", "src"),
        ("schemas/<namespace>/<operation>.json", "schemas"),
        ("ci/NAME", "ci"),
        ("meta-raspi-mcp/README.md", "meta-raspi-mcp/README.md"),
    ];
    for (path, expected) in plain_ones {
        assert_eq!(plain(path), expected, "{path}");
    }
}
