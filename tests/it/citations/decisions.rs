//! Decisions that are cited by their number.

use super::{here, none, regex, texts};
use std::{collections::BTreeSet, fs, path::PathBuf};

/// The pages with decisions: one, or one a topic.
fn pages() -> Vec<PathBuf> {
    let topics = fs::read_dir(here().join("docs/decisions")).into_iter().flatten().flatten();
    topics.map(|page| page.path()).chain([here().join("docs/decisions.md")]).filter(|page| page.is_file()).collect()
}

/// The numbers of a page: `12. **Title**` or `## 12. Title`.
fn numbers(page: &str) -> BTreeSet<u32> {
    let heading = regex(r"(?m)^(?:([0-9]{1,3})\. \*\*|## ([0-9]{1,3})\. )");
    let found = heading.captures_iter(page).filter_map(|found| found.get(1).or(found.get(2)));
    found.map(|number| number.as_str().parse().expect("three digits at most")).collect()
}

/// The numbers that a line cites.
fn cited(line: &str) -> Vec<u32> {
    let citation = regex(r"\b[Dd]ecisions?(?:\.md,)? ([0-9]{1,3})\b(?: and ([0-9]{1,3})\b)?");
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
fn both_forms_of_headings_and_citations_are_read() {
    let page = "1. **One.** Text\n\n## 22. Two\n\nState: accepted.\n3. not one\n";
    assert_eq!(numbers(page), BTreeSet::from([1, 22]));
    assert_eq!(cited("see decision 110, and decisions 7 and 8 (docs/decisions.md, 230)"), [110, 7, 8, 230]);
    assert_eq!(cited("a decision of 3 people; decisions.md"), [0u32; 0]);
}
