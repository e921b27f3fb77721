//! docs/README.md lists every page, the days in their order; README.md is short; and what is shown as code fits a terminal.

use super::{DAYS, blocks, page, pages};

/// Columns of a terminal that nobody has made wider.
const COLUMNS: usize = 80;
const LONGEST_README: usize = 200;

#[test]
fn every_page_is_in_the_contents_and_the_days_are_in_their_order() {
    let contents = page("docs/README.md");
    let place = |name: &str| contents.find(&format!("]({})", name.trim_start_matches("docs/")));
    let inside = |name: &&String| name.starts_with("docs/") && *name != "docs/README.md";
    let missing: Vec<String> = pages().iter().filter(inside).filter(|name| place(name).is_none()).cloned().collect();
    assert!(missing.is_empty(), "docs/README.md does not name {missing:?}");
    let places: Vec<_> = DAYS.iter().map(|day| place(day)).collect();
    assert!(places.is_sorted(), "docs/README.md has another order than {DAYS:?}");
}

#[test]
fn the_readme_is_short_and_fits_a_terminal() {
    let readme = page("README.md");
    let lines = readme.lines().count();
    assert!(lines < LONGEST_README, "README.md has {lines} lines");
    let wide: Vec<&str> = readme.lines().filter(|line| line.chars().count() > COLUMNS).collect();
    assert!(wide.is_empty(), "lines of README.md that are wider than {COLUMNS} columns:\n{}", wide.join("\n"));
}

#[test]
fn code_on_the_pages_of_the_days_fits_a_terminal() {
    let mut wide = Vec::new();
    for name in DAYS {
        for block in blocks(&page(name)) {
            for (n, line) in block.lines.iter().enumerate().filter(|(_, line)| line.chars().count() > COLUMNS) {
                wide.push(format!("{name}:{}: {line}", block.line + n));
            }
        }
    }
    assert!(wide.is_empty(), "wider than {COLUMNS} columns:\n{}", wide.join("\n"));
}

#[test]
fn the_readme_has_its_parts_in_this_order() {
    let readme = page("README.md");
    let headings: Vec<&str> = readme.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let parts = ["What is proven", "Try", "Connect", "Install", "Allow", "Safety", "More"];
    assert_eq!(headings.len(), parts.len(), "{headings:?}");
    for (heading, part) in headings.iter().zip(parts) {
        assert!(heading.starts_with(part), "{heading} stands where {part} should");
    }
}
