//! What the tree promises about itself: the oldest compiler, where rmcp is named, how long a file gets.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

mod boundary;
mod direction;
mod imports;

/// The Yocto LTS ships Rust 1.94; a dependency that wants more would break the image, not the developer.
const OLDEST_RUST: (u64, u64) = (1, 94);
/// Past this many lines a file holds more than one idea.
const LONGEST_FILE: usize = 400;
/// Past this many lines, its signature and braces counted, a function does more than one thing.
const LONGEST_FUNCTION: usize = 100;

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every `.rs` file below `folder`, sorted, with its text.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    fn walk(at: &Path, into: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(at).expect("a readable folder") {
            let path = entry.expect("a readable entry").path();
            if path.is_dir() {
                walk(&path, into);
            } else if path.extension().is_some_and(|e| e == "rs") {
                into.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    walk(&here().join(folder), &mut paths);
    paths.sort();
    assert!(!paths.is_empty(), "no source below {folder}");
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).expect("UTF-8 source"))).collect()
}

fn short(path: &Path) -> String {
    path.strip_prefix(here()).unwrap_or(path).display().to_string()
}

/// The sources of every crate of the workspace.
fn all_sources() -> Vec<(PathBuf, String)> {
    let mut all = sources("src");
    for entry in fs::read_dir(here().join("crates")).expect("the folder of crates") {
        let folder = entry.expect("a readable entry").file_name();
        all.extend(sources(&format!("crates/{}/src", folder.to_string_lossy())));
    }
    all
}

/// `1.94` or `1.94.1` as numbers.
fn version(text: &str) -> (u64, u64) {
    let mut parts = text.split('.').map(|part| part.parse().expect("a numeric Rust version"));
    (parts.next().expect("a major version"), parts.next().unwrap_or(0))
}

/// What `cargo metadata` says, asked with `more` arguments.
fn metadata(more: &[&str]) -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1", "--quiet"])
        .args(more)
        .current_dir(here())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

#[test]
fn no_locked_package_wants_a_newer_rust_than_the_yocto_lts_has() {
    // Every platform's packages: cargo fetches those that this one did not need.
    let metadata = metadata(&["--all-features"]);
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(packages.len() > 50, "only {} packages: the metadata is not ours", packages.len());
    let too_new: Vec<String> = packages
        .iter()
        .filter(|package| package["rust_version"].as_str().is_some_and(|wants| version(wants) > OLDEST_RUST))
        .map(|package| format!("{} {} wants {}", package["name"], package["version"], package["rust_version"]))
        .collect();
    assert!(too_new.is_empty(), "the Yocto LTS has Rust 1.94; pin an older release of:\n{}", too_new.join("\n"));
}

#[test]
fn rmcp_and_async_nats_are_named_only_in_the_folders_that_shield_us_from_them() {
    for (name, folder) in [("rmcp", "src/rpc"), ("async_nats", "src/broker")] {
        let elsewhere: Vec<String> = all_sources()
            .iter()
            .filter(|(path, _)| !path.starts_with(here().join(folder)))
            .flat_map(|(path, text)| {
                text.lines()
                    .enumerate()
                    .filter(|(_, line)| uses(line, name))
                    .map(|(n, line)| format!("{}:{}: {}", short(path), n + 1, line.trim()))
            })
            .collect();
        assert!(elsewhere.is_empty(), "{name} belongs in {folder} only:\n{}", elsewhere.join("\n"));
    }
}

/// Whether a line of code (comments may mention it) names the crate; `rmcp_` alone is our token prefix.
fn uses(line: &str, name: &str) -> bool {
    let code = line.split("//").next().unwrap_or(line);
    [format!("{name}::"), format!("use {name}"), format!("extern crate {name}")].iter().any(|form| code.contains(form))
}

#[test]
fn only_one_file_may_say_unsafe_and_it_says_why_each_time() {
    let allowed = here().join("crates/base/src/os/ioctl.rs");
    let mut calls = 0;
    for (path, text) in all_sources() {
        let code = |line: &str| line.split("//").next().unwrap_or(line).to_owned();
        if path != allowed {
            // The lint denies it where nobody allows it, so this is what to look for.
            let at = text.lines().position(|line| code(line).contains("unsafe_code"));
            assert_eq!(at, None, "{} lets unsafe code in; it belongs in crates/base/src/os/ioctl.rs", short(&path));
            continue;
        }
        let lines: Vec<&str> = text.lines().collect();
        for (n, line) in lines.iter().enumerate().filter(|(_, line)| code(line).contains("unsafe {")) {
            calls += 1;
            let above = lines[..n].iter().rev().take_while(|line| line.trim_start().starts_with("//"));
            let why = above.into_iter().any(|line| line.contains("SAFETY:"));
            assert!(why, "{}:{}: no SAFETY comment above: {}", short(&path), n + 1, line.trim());
        }
    }
    assert!(calls > 0, "nothing unsafe is left: take the exception away");
}

#[test]
fn no_file_of_ours_is_too_long_to_hold_one_idea() {
    let mut lengths: Vec<(usize, String)> =
        all_sources().iter().map(|(path, text)| (text.lines().count(), short(path))).collect();
    lengths.sort();
    let median = lengths[lengths.len() / 2].0;
    println!("{} files, median {median} lines, longest {:?}", lengths.len(), lengths.last());
    let too_long: Vec<String> = lengths
        .iter()
        .filter(|(lines, _)| *lines > LONGEST_FILE)
        .map(|(lines, path)| format!("{lines} {path}"))
        .collect();
    assert!(too_long.is_empty(), "past {LONGEST_FILE} lines, find the seam:\n{}", too_long.join("\n"));
}

#[test]
fn every_source_file_says_at_the_top_what_it_is_for() {
    let silent: Vec<String> = all_sources()
        .iter()
        .chain(&sources("tests/it"))
        .chain(&sources("tests/tools"))
        .chain(&sources("tests/support"))
        .filter(|(_, text)| !text.starts_with("//!"))
        .map(|(path, _)| short(path))
        .collect();
    assert!(silent.is_empty(), "no module comment:\n{}", silent.join("\n"));
}

/// The functions of a source that rustfmt has formatted, by name, with the lines from signature to closing brace.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let words: Vec<&str> = code.split(' ').collect();
        let Some(place) = words.iter().position(|word| *word == "fn") else { continue };
        if !words[..place]
            .iter()
            .all(|word| matches!(*word, "pub" | "const" | "async" | "unsafe") || word.starts_with("pub("))
        {
            continue;
        }
        let name = words[place + 1].split(['(', '<']).next().unwrap_or_default().to_owned();
        let closing = format!("{}}}", &line[..line.len() - code.len()]);
        let rest = lines[at..].iter().take_while(|line| **line != closing).count();
        let is_open = !code.ends_with(';') && !code.ends_with('}') && at + rest < lines.len();
        found.extend(is_open.then_some((name, rest + 1)));
    }
    found
}

#[test]
fn no_function_is_longer_than_a_hundred_lines() {
    let sample = format!(
        "impl A {{\n    pub async fn long(\n        a: u8,\n    ) {{\n{}    }}\n}}\n",
        "        a();\n".repeat(100)
    );
    assert_eq!(functions(&sample), [("long".to_owned(), 104)], "this test sees lengths");
    let all: Vec<(String, String, usize)> = all_sources()
        .iter()
        .flat_map(|(path, text)| functions(text).into_iter().map(|(name, lines)| (short(path), name, lines)))
        .collect();
    assert!(all.len() > 3000, "only {} functions were seen", all.len());
    let long: Vec<_> = all.iter().filter(|(.., lines)| *lines > LONGEST_FUNCTION).collect();
    assert!(long.is_empty(), "{long:#?}");
}

/// One copy of the sorting algorithm is 4 kB of the program (decision 314).
#[test]
fn only_one_place_sorts() {
    let sorts =
        [".sort(", ".sort_by(", ".sort_by_key(", ".sort_unstable(", ".sort_unstable_by", ".sort_by_cached_key("];
    let elsewhere: Vec<String> = all_sources()
        .into_iter()
        .filter(|(path, _)| !short(path).ends_with("base/src/sort.rs"))
        // Tests are not in the program.
        .map(|(path, text)| (path, text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned()))
        .filter(|(_, text)| sorts.iter().any(|sort| text.contains(sort)))
        .map(|(path, _)| short(&path))
        .collect();
    assert!(elsewhere.is_empty(), "sort with base::sort, which is compiled once: {elsewhere:?}");
}
