//! Dependencies point one way: between the crates of the workspace, and between the top-level modules of each.
//!
//! `tests/fixtures/direction.txt` lists every edge there is, one module a line. A new edge fails until `BLESS=1` writes it there, where
//! a reviewer sees it; an edge that closes a cycle fails always.

use super::{here, imports, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

/// Module to the modules that it names.
type Edges = BTreeMap<String, BTreeSet<String>>;

/// The top-level modules of the crate in `folder`, with the edges between them.
fn modules(folder: &str) -> Edges {
    let root = here().join(folder);
    let files = sources(folder);
    let mut edges = Edges::new();
    for (path, text) in &files {
        let relative = path.strip_prefix(&root).expect("a file of that folder").with_extension("");
        let mut module: Vec<String> = relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if module.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
            module.pop();
        }
        let Some(from) = module.first() else { continue };
        let named = imports::named(text, &module);
        let to = named.iter().filter_map(|path| path.first()).filter(|to| *to != from).cloned();
        edges.entry(from.clone()).or_default().extend(to);
    }
    let known: BTreeSet<String> = edges.keys().cloned().collect();
    edges.values_mut().for_each(|to| to.retain(|to| known.contains(to)));
    edges
}

/// The modules that lie on a cycle: each names itself by way of others.
fn on_cycles(edges: &Edges) -> Vec<&String> {
    let reaches_itself = |start: &String| {
        let mut seen = BTreeSet::new();
        let mut next: Vec<&String> = edges[start].iter().collect();
        while let Some(module) = next.pop() {
            if module == start {
                return true;
            }
            if seen.insert(module) {
                next.extend(&edges[module]);
            }
        }
        false
    };
    edges.keys().filter(|module| reaches_itself(module)).collect()
}

#[test]
fn a_cycle_is_found_and_a_line_is_none() {
    let edges = |rows: &[(&str, &[&str])]| -> Edges {
        rows.iter().map(|(from, to)| ((*from).to_owned(), to.iter().map(|to| (*to).to_owned()).collect())).collect()
    };
    assert!(on_cycles(&edges(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])).is_empty());
    assert_eq!(on_cycles(&edges(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"]), ("d", &["a"])])), ["b", "c"]);
}

/// A package of this workspace: its folder of sources, its direct dependencies on the others.
struct Member {
    folder: String,
    to: BTreeSet<String>,
}

/// What `cargo metadata` says of the workspace, by package name.
fn members() -> BTreeMap<String, Member> {
    let metadata = super::metadata(&["--no-deps"]);
    let packages = metadata["packages"].as_array().expect("packages");
    let names: BTreeSet<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let member = |package: &serde_json::Value| {
        let manifest = package["manifest_path"].as_str().expect("a path");
        let folder = std::path::Path::new(manifest).with_file_name("src");
        let folder = folder.strip_prefix(here()).expect("a folder of the repository").display().to_string();
        let dependencies = package["dependencies"].as_array().expect("dependencies").iter();
        let to = dependencies
            .filter(|to| to["kind"].is_null())
            .filter_map(|to| to["name"].as_str())
            .filter(|to| names.contains(to))
            .map(str::to_owned)
            .collect();
        (package["name"].as_str().expect("a name").to_owned(), Member { folder, to })
    };
    packages.iter().map(member).collect()
}

/// The text of `direction.txt` as the sources make it.
fn drawn(members: &BTreeMap<String, Member>) -> String {
    let list = |set: &BTreeSet<String>| set.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    let mut text = String::new();
    for (name, member) in members {
        writeln!(text, "[{name}] {}", list(&member.to)).expect("a String takes everything");
        for (module, to) in modules(&member.folder) {
            writeln!(text, "{module}: {}", list(&to)).expect("a String takes everything");
        }
        text.push('\n');
    }
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn no_import_is_new_and_none_closes_a_cycle() {
    let members = members();
    for (name, member) in &members {
        let edges = modules(&member.folder);
        let cycle = on_cycles(&edges);
        assert!(cycle.is_empty(), "{name}: these modules reach themselves: {cycle:?}");
    }
    let file = here().join("tests/fixtures/direction.txt");
    let drawn = drawn(&members);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&file, &drawn).expect("a writable fixture");
    }
    let committed = fs::read_to_string(&file).expect("tests/fixtures/direction.txt");
    let new: Vec<&str> = drawn.lines().filter(|line| !committed.lines().any(|known| known == *line)).collect();
    assert!(
        committed == drawn,
        "imports changed; where that is meant, BLESS=1 writes them to tests/fixtures/direction.txt:\n{}",
        new.join("\n")
    );
}
