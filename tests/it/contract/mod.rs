//! The contract: `schemas/` is what the types promise, what was released stays true, and every tool is what it says.
//!
//! Three tests keep the contract: generated equals committed, inputs only widen, schema and parser agree.

mod absent;
mod actions;
mod advertised;
mod edges;
pub mod hardware;
mod ignored;
mod keys;
mod listed;
mod made;
pub mod oracle;
pub mod probe;
mod refusals;
mod released;
mod routeros;
pub mod tools;
mod widens;
mod written;

use contract::access::policy::Policy;
use oracle::oracle;
use raspi_mcp::{
    cli,
    registry::{Registry, row::ToolRow},
};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every tool of this program: those of a device, and those of the console of a fleet.
fn all_tools() -> Registry {
    let namespaces: Vec<_> =
        raspi_mcp::tools::NAMESPACES.iter().copied().chain([raspi_mcp::tools::fleet::TOOLS]).collect();
    Registry::new(&namespaces)
}

/// Compares a committed file with what it must hold; `BLESS=1` rewrites it and fails once, so that CI never blesses.
fn committed(path: &Path, text: &str) -> Result<(), String> {
    let shown = path.strip_prefix(here()).unwrap_or(path).display();
    if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        return Err(format!("{shown} was rewritten: look at it, and run the test again"));
    }
    Err(format!("{shown} is not what this build promises; BLESS=1 cargo test --test it contract rewrites it"))
}

#[test]
fn the_committed_schemas_are_what_this_build_promises() {
    const { assert!(raspi_mcp::registry::FROM_TYPES, "a release has its schemas from the files: no witness for them") };
    let (registry, folder) = (all_tools(), here().join("schemas"));
    let mut others = cli::schema::others(&registry);
    others.extend(cli::schema::routeros());
    let stale: Vec<String> = registry
        .rows()
        .map(|entry| (cli::schema::file(entry), cli::schema::text(entry)))
        .chain(others.iter().cloned())
        .filter_map(|(path, text)| committed(&folder.join(path), &text).err())
        .collect();
    assert!(stale.is_empty(), "{}", stale.join("\n"));
    let mut expected: BTreeSet<PathBuf> = registry.rows().map(|entry| folder.join(cli::schema::file(entry))).collect();
    expected.extend(others.iter().map(|(path, _)| folder.join(path)));
    expected.insert(folder.join(released::ERRORS));
    let extra: Vec<PathBuf> = files(&folder).into_iter().filter(|path| !expected.contains(path)).collect();
    assert!(extra.is_empty(), "no tool promises {extra:#?}; a tool is deprecated before it goes");
}

#[test]
fn the_committed_policy_table_is_the_one_that_holds_by_default() {
    let table = cli::tools::table(&Registry::new(raspi_mcp::tools::NAMESPACES), &Policy::read_only());
    let text = format!(
        "# Policy by default\n\nWritten by `BLESS=1 cargo test --test it contract`; `raspi-mcp tools --policy` prints that of the running server.\n\n{table}"
    );
    committed(&here().join("docs/policy.md"), &text).unwrap();
}

#[test]
fn schema_and_parser_are_of_one_mind() {
    let registry = all_tools();
    let (mut tried, mut apart) = (0, Vec::new());
    for entry in registry.rows() {
        let (count, found) = probe::apart(entry);
        tried += count;
        apart.extend(found.into_iter().map(|what| format!("{}: {what}", entry.name())));
    }
    println!("{tried} probes of {} tools", registry.rows().count());
    assert!(apart.is_empty(), "{}", apart.join("\n"));
}

/// Every `.json` below `folder`, but nothing in folders whose name starts with a dot.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return found };
    for entry in entries {
        let path = entry.unwrap().path();
        let hidden = path.file_name().unwrap().to_string_lossy().starts_with('.');
        if path.is_dir() && !hidden {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "json") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The names of an entry's parameters.
fn parameters(entry: &'static ToolRow) -> BTreeSet<String> {
    let schema = entry.input_schema();
    schema["properties"].as_object().unwrap().keys().cloned().collect()
}
