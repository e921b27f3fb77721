//! The parts of `ci/test`, their limits in docs/ci.md and their inputs, and the table of `ci/parts/quick`.

mod plan;

use raspi_mcp::registry::Registry;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// What the parts of every run may take together, in seconds, on the machine that the table is from.
const EVERY_RUN: u32 = 40 * 60;
/// What all parts may take together, in seconds: a run that lasts longer is lost.
const ALL_PARTS: u32 = 90 * 60;

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(file: &str) -> String {
    fs::read_to_string(here().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// A row of the table of parts; times in seconds.
struct Row {
    part: String,
    ceiling: u32,
    time: u32,
}

fn seconds(text: &str) -> Option<u32> {
    let (minutes, seconds) = text.split_once(':')?;
    Some(minutes.parse::<u32>().ok()? * 60 + seconds.parse::<u32>().ok().filter(|seconds| *seconds < 60)?)
}

/// `| part | what it checks | ceiling | time |`
fn row(line: &str) -> Option<Row> {
    let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
    let [part, _, ceiling, time] = cells.as_slice() else { return None };
    Some(Row { part: (*part).to_owned(), ceiling: seconds(ceiling)?, time: seconds(time)? })
}

fn rows() -> Vec<Row> {
    text("docs/ci.md").lines().filter_map(row).collect()
}

/// ci/inputs.toml.
fn inputs() -> toml::Table {
    text("ci/inputs.toml").parse().expect("ci/inputs.toml is TOML")
}

fn table<'a>(of: &'a toml::Table, name: &str) -> &'a toml::Table {
    of[name].as_table().unwrap_or_else(|| panic!("[{name}] is a table"))
}

/// The parts of every run, and those that run where an input has changed, each in the order of a run.
fn parts() -> (Vec<String>, Vec<String>) {
    let inputs = inputs();
    let names = |name: &str| {
        let text = text("ci/inputs.toml");
        let (_, text) = text.split_once("\n[always]").expect("[always]");
        let at = |part: &String| {
            let row = if name == "always" { format!("\n{part} = [") } else { format!("\n[{name}.{part}]") };
            text.find(&row).unwrap_or_else(|| panic!("ci/inputs.toml has no line {row:?}"))
        };
        let mut names: Vec<String> = table(&inputs, name).keys().cloned().collect();
        names.sort_by_key(at);
        names
    };
    (names("always"), names("by_inputs"))
}

#[test]
fn a_row_has_two_times() {
    let fmt = row("| fmt | rustfmt accepts every file | 0:30 | 1:01 |").expect("a row");
    assert_eq!((fmt.part.as_str(), fmt.ceiling, fmt.time), ("fmt", 30, 61));
    for bad in ["| fmt | rustfmt | 0:30 | |", "| part | what | ceiling | time |", "| fmt | rustfmt | 0:60 | 0:01 |"] {
        assert!(row(bad).is_none(), "{bad}");
    }
}

#[test]
fn every_part_has_a_ceiling_and_every_row_is_a_part() {
    let listed: Vec<String> = rows().into_iter().map(|row| row.part).collect();
    let scripts: BTreeSet<String> = fs::read_dir(here().join("ci/parts"))
        .expect("the parts")
        .map(|entry| entry.expect("a readable entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), scripts, "docs/ci.md and ci/parts");
    let (mut complete, by_inputs) = parts();
    complete.extend(by_inputs);
    assert_eq!(listed[..complete.len()], complete, "docs/ci.md has the order of ci/inputs.toml");
    assert_eq!(listed[complete.len()..], ["quick"], "only this is not part of a complete run");
}

#[test]
fn the_parts_of_every_run_fit_40_minutes_and_all_parts_90() {
    let (rows, (always, _)) = (rows(), parts());
    for row in &rows {
        assert!(row.time <= row.ceiling, "{} took {} s, and its ceiling is {} s", row.part, row.time, row.ceiling);
    }
    let total = |wanted: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| wanted(row)).map(|row| row.time).sum::<u32>();
    let every_run = total(&|row| always.contains(&row.part));
    assert!(every_run < EVERY_RUN, "the parts of every run take {}:{:02}", every_run / 60, every_run % 60);
    let all = total(&|row| row.part != "quick");
    assert!(all < ALL_PARTS, "all parts take {}:{:02}", all / 60, all % 60);
}

#[test]
fn what_parts_read_is_a_group_and_each_group_is_read_or_left_on_purpose() {
    let inputs = inputs();
    let groups = table(&inputs, "groups");
    let strings = |value: &toml::Value| -> Vec<String> {
        value.as_array().expect("a list").iter().map(|name| name.as_str().expect("a name").to_owned()).collect()
    };
    let mut read: Vec<String> = table(&inputs, "always").values().flat_map(&strings).collect();
    for (part, row) in table(&inputs, "by_inputs") {
        read.extend(strings(&row["reads"]));
        let tools = row["tools"].as_str().expect("which tools it reads");
        assert!(["named", "all", "none"].contains(&tools), "{part}: tools = {tools:?}");
    }
    let known: BTreeSet<&String> = groups.keys().collect();
    let named: BTreeSet<&String> = read.iter().collect();
    assert_eq!(named.difference(&known).collect::<Vec<_>>(), Vec::<&&String>::new(), "parts read what is no group");
    assert_eq!(known.difference(&named).collect::<Vec<_>>(), Vec::<&&String>::new(), "no part reads these groups");
}

/// The table of `ci/parts/quick`: a pattern of paths, and the modules of tests/it, or of tests/tools as tools::MODULE.
fn quick() -> Vec<(String, Vec<String>)> {
    let script = text("ci/parts/quick");
    let (_, table) = script.split_once("<<'TABLE'\n").expect("a table");
    let (table, _) = table.split_once("\nTABLE\n").expect("the table's end");
    let mut rows = Vec::new();
    for line in table.lines() {
        let mut words = line.split_whitespace().map(str::to_owned);
        rows.push((words.next().expect("a pattern"), words.collect()));
    }
    rows
}

/// Every source file and folder below `folder`, from the top.
fn paths(folder: &str, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(here().join(folder)).expect("a readable folder") {
        let entry = entry.expect("a readable entry");
        let path = Path::new(folder).join(entry.file_name());
        if entry.file_type().expect("a kind").is_dir() {
            paths(path.to_str().expect("UTF-8"), into);
        }
        into.push(path);
    }
}

#[test]
fn what_the_quick_tier_names_is_there() {
    let mut conversations = Vec::new();
    paths("tests/it", &mut conversations);
    paths("tests/tools", &mut conversations);
    conversations.push("tests/tools".into());
    let is_module = |name: &str| {
        let folder = if name.split("::").next() == Some("tools") { "tests" } else { "tests/it" };
        let path = Path::new(folder).join(name.replace("::", "/"));
        conversations.iter().any(|there| *there == path || *there == path.with_extension("rs"))
    };
    let rows = quick();
    assert!(rows.len() > 20, "only {} rows", rows.len());
    for (pattern, modules) in &rows {
        let start = pattern.split('*').next().expect("what is before it");
        let (folder, name) = start.rsplit_once('/').unwrap_or(("", start));
        let mut there = fs::read_dir(here().join(folder)).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        let fits = there.any(|entry| entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with(name)));
        assert!(fits, "{pattern}: no file is called so");
        assert!(!modules.is_empty(), "{pattern}: no conversation");
        for module in modules.iter().filter(|module| !module.contains('{')) {
            assert!(is_module(module), "{pattern}: no test program has the module {module}");
        }
    }
    let script = text("ci/parts/quick");
    let slow = script.split_once("\nSLOW=(").and_then(|(_, rest)| rest.split_once(')')).expect("slow ones").0;
    let missing: Vec<&str> = slow.split_whitespace().filter(|module| !is_module(module)).collect();
    assert!(missing.is_empty(), "slow, and not there: {missing:?}");
}

#[test]
fn the_quick_tier_knows_every_crate() {
    let rows = quick();
    for entry in fs::read_dir(here().join("crates")).expect("the crates") {
        let row = format!("crates/{}/*", entry.expect("a readable entry").file_name().to_string_lossy());
        assert!(rows.iter().any(|(pattern, _)| *pattern == row), "ci/parts/quick has no row {row}");
    }
}

/// Tools that a card without further settings does not list: `days` cannot call them.
const NOT_ON_A_PLAIN_CARD: [&str; 8] = [
    "agents.send_task",
    "agents.shutdown",
    "agents.spawn",
    "serial.close",
    "serial.open",
    "serial.write",
    "spi.transfer",
    "vector.rebuild",
];

/// The story `days` calls every tool of a card. It is too long for CI, so a new tool without a call there is found here.
#[test]
fn every_tool_of_a_card_is_called_on_a_simulated_day() {
    let day = text("ci/qemu.d/everyday.py");
    let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
    let tools = registry.rows().map(|entry| entry.name()).filter(|tool| !NOT_ON_A_PLAIN_CARD.contains(tool));
    let (called, missing): (Vec<&str>, Vec<&str>) = tools.partition(|tool| day.contains(&format!("\"{tool}\"")));
    assert!(missing.is_empty(), "ci/qemu.d/everyday.py has no call of {missing:?}");
    assert!(called.len() > 60, "{called:?}");
}
