//! Decisions that are cited by their number.

use super::{here, none, regex, texts};
use std::{collections::BTreeSet, fs, path::PathBuf};

/// Each topic's page.
fn pages() -> Vec<PathBuf> {
    let pages = fs::read_dir(here().join("docs/decisions")).expect("docs/decisions");
    pages.map(|page| page.expect("a readable entry").path()).collect()
}

/// The numbers of a page: `## 12. Title`.
fn numbers(page: &str) -> BTreeSet<u32> {
    let headings = page.lines().filter_map(|line| line.strip_prefix("## ")?.split_once(". "));
    headings.filter_map(|(number, _)| number.parse().ok()).collect()
}

/// The numbers that a line cites.
fn cited(line: &str) -> Vec<u32> {
    let citation = regex(r"\b[Dd]ecisions? ([0-9]{1,3})\b(?: and ([0-9]{1,3})\b)?");
    let found = citation.captures_iter(line).flat_map(|found| [found.get(1), found.get(2)]).flatten();
    found.map(|number| number.as_str().parse().expect("three digits at most")).collect()
}

#[test]
fn every_cited_decision_was_taken() {
    let taken: BTreeSet<u32> =
        pages().iter().flat_map(|page| numbers(&fs::read_to_string(page).expect("a readable page"))).collect();
    assert!(taken.len() > 200, "only {} decisions were found", taken.len());
    let (mut seen, mut wrong) = (0, Vec::new());
    for text in texts() {
        for (n, line) in text.prose().filter(|(_, line)| line.contains("ecision")) {
            for number in cited(line) {
                seen += 1;
                if !taken.contains(&number) {
                    wrong.push(format!("{}:{n}: decision {number}", text.path.display()));
                }
            }
        }
    }
    assert!(seen > 5, "only {seen} citations were found");
    none(wrong, "no such decisions");
}

#[test]
fn headings_and_citations_are_read() {
    let page = "# Topic\n\n## 1. One\n\nState: accepted.\n3. not one\n\n## 22. Two\n\n## How to\n";
    assert_eq!(numbers(page), BTreeSet::from([1, 22]));
    assert_eq!(cited("see decision 110, and decisions 7 and 8"), [110, 7, 8]);
    assert_eq!(cited("a decision of 3 people; decisions.md"), [0u32; 0]);
}
