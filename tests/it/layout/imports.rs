//! Which module imports which: read from the text of the sources, as far as Rust's paths say it.

use std::collections::BTreeSet;

/// The absolute paths below `crate` that a file names: in `use` trees and in paths written out. Comments and the unit tests at its end do
/// not count.
///
/// `module` is where the file stands, for example `["config", "load"]`.
pub fn named(text: &str, module: &[String]) -> BTreeSet<Vec<String>> {
    let code = without_tests(&without_comments(text)).to_owned();
    let mut paths = BTreeSet::new();
    let mut rest = String::new();
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let Some(first) = tree_of(line) else {
            rest.push_str(line);
            rest.push('\n');
            continue;
        };
        let mut tree = first.to_owned();
        while !tree.contains(';') {
            let Some(more) = lines.next() else { break };
            tree.push_str(more.trim());
        }
        expand("", tree.split(';').next().unwrap_or_default(), &mut |path| paths.extend(absolute(&path, module)));
    }
    for start in ["crate::", "super::"] {
        for (at, _) in rest.match_indices(start) {
            let is_start = !rest[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
            let end =
                rest[at..].find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(rest.len() - at);
            paths.extend(is_start.then(|| absolute(&rest[at..at + end], module)).flatten());
        }
    }
    paths
}

/// What follows `use` in a line that starts an import.
fn tree_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(public) => {
            public.split_once("use ").filter(|(between, _)| !between.contains(['{', '='])).map(|(_, tree)| tree)
        }
        None => line.strip_prefix("use "),
    };
    line.filter(|tree| tree.starts_with("crate::") || tree.starts_with("super::") || tree.starts_with("self::"))
}

/// Calls `found` with every path of a `use` tree.
fn expand(before: &str, tree: &str, found: &mut impl FnMut(String)) {
    let Some(open) = tree.find('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree).trim();
        if !path.is_empty() {
            found(format!("{before}{path}"));
        }
        return;
    };
    let before = format!("{before}{}", tree[..open].trim());
    let inner = &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())];
    let (mut depth, mut start) = (0, 0);
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&before, &inner[start..at.min(inner.len())], found);
                start = (at + 1).min(inner.len());
            }
            _ => {}
        }
    }
}

/// `None` for a path that does not start at `crate`, `super` or `self`.
fn absolute(path: &str, module: &[String]) -> Option<Vec<String>> {
    let mut parts = path.split("::").map(str::trim).peekable();
    let mut at: Vec<String> = match parts.peek() {
        Some(&"crate") => parts.next().map(|_| Vec::new())?,
        Some(&"self" | &"super") => module.to_vec(),
        _ => return None,
    };
    while let Some(&step @ ("self" | "super")) = parts.peek() {
        if step == "super" {
            at.pop();
        }
        parts.next();
    }
    at.extend(parts.filter(|part| !part.is_empty()).map(str::to_owned));
    Some(at)
}

fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

fn without_tests(code: &str) -> &str {
    code.find("#[cfg(test)]\nmod ").map_or(code, |at| &code[..at])
}

#[test]
fn paths_are_found_in_use_trees_and_in_code() {
    let text = "use crate::{a::B, c::{self, D as E}};\nuse super::f::G;\n// crate::comment\nfn x() { crate::h::i(); let s = 1; }\n\
                pub use crate::k;\n#[cfg(test)]\nmod tests { use crate::only_in_tests; }";
    let module = ["m".to_owned(), "n".to_owned()];
    let found: Vec<String> = named(text, &module).into_iter().map(|path| path.join("/")).collect();
    assert_eq!(found, ["a/B", "c/D", "c/self", "h/i", "k", "m/f/G"]);
}
