//! The parts of `ci/test` and their limits in docs/ci.md, and the table of `ci/parts/quick`.

use raspi_mcp::registry::Registry;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// What a complete run may take, on the machine that the table is from.
const COMPLETE_RUN: u32 = 60 * 60;

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(file: &str) -> String {
    fs::read_to_string(here().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The parts that a complete run leaves out at some commits, and what they are called in the table of turns (decision 439).
const PARTS_BY_TURNS: [(&str, &str); 3] = [
    ("qemu-update", "updates of the guest"),
    ("qemu-hw", "guests with hardware"),
    ("image", "stories of the whole card"),
];

/// The first digits of the commits at which that is done: `["clippy as images are built"]=9b` of `TURNS` in ci/lib.sh.
fn turns(what: &str) -> String {
    let script = text("ci/lib.sh");
    let (_, rest) = script.split_once(&format!("[\"{what}\"]=")).unwrap_or_else(|| panic!("{what} takes no turns"));
    rest.chars().take_while(char::is_ascii_hexdigit).collect()
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

/// The parts of a complete run, in order.
fn complete() -> Vec<String> {
    let script = text("ci/test");
    let line = script.lines().find_map(|line| line.strip_prefix("ALL=(")?.strip_suffix(')'));
    line.expect("ci/test lists its parts").split(' ').map(str::to_owned).collect()
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
    let complete = complete();
    assert_eq!(listed[..complete.len()], complete, "docs/ci.md has the order of ci/test");
    assert_eq!(listed[complete.len()..], ["quick"], "only this is not part of a complete run");
}

#[test]
fn a_complete_run_takes_less_than_an_hour() {
    let (rows, complete) = (rows(), complete());
    for row in &rows {
        assert!(row.time <= row.ceiling, "{} took {} s, and its ceiling is {} s", row.part, row.time, row.ceiling);
    }
    for digit in "0123456789abcdef".chars() {
        let runs = |row: &&Row| {
            complete.contains(&row.part)
                && !PARTS_BY_TURNS.iter().any(|(part, what)| *part == row.part && !turns(what).contains(digit))
        };
        let sum: u32 = rows.iter().filter(runs).map(|row| row.time).sum();
        assert!(sum < COMPLETE_RUN, "the parts of a commit {digit}... take {}:{:02} together", sum / 60, sum % 60);
    }
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
