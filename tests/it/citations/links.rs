//! Links of Markdown files to files of the repository, and to their headings.

use super::{here, none, regex, texts};
use std::{fs, path::Path};

/// What a heading is called in an address: in lower case, without punctuation, with hyphens for spaces.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

fn has_heading(text: &str, wanted: &str) -> bool {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).any(|heading| heading == wanted)
}

/// Why `link`, of the document at `from` below `top`, leads nowhere.
fn fault(top: &Path, from: &Path, link: &str) -> Option<String> {
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let from = top.join(from);
    let to = if path.is_empty() { from } else { from.parent()?.join(path) };
    if !to.exists() {
        return Some(format!("there is no {path}"));
    }
    let found = heading.is_empty() || fs::read_to_string(&to).is_ok_and(|text| has_heading(&text, heading));
    (!found).then(|| format!("no heading of {path} is #{heading}"))
}

#[test]
fn every_relative_link_leads_to_a_file_and_heading() {
    let (link, mut seen, mut wrong) = (regex(r"\]\(([^()\s]+)\)"), 0, Vec::new());
    for text in texts().iter().filter(|text| text.is_markdown()) {
        for (n, line) in text.prose().filter(|(_, line)| line.contains("](")) {
            let targets = link.captures_iter(line).filter_map(|found| Some(found.get(1)?.as_str()));
            for target in targets.filter(|target| !target.contains(':')) {
                seen += 1;
                if let Some(why) = fault(&here(), &text.path, target) {
                    wrong.push(format!("{}:{n}: {target}: {why}", text.path.display()));
                }
            }
        }
    }
    assert!(seen > 100, "only {seen} links were found");
    none(wrong, "links that lead nowhere");
}

#[test]
fn a_link_without_a_file_or_heading_is_found() {
    let top = tempfile::TempDir::new().unwrap();
    fs::create_dir(top.path().join("docs")).unwrap();
    fs::write(top.path().join("docs/a.md"), "# One\n\n## Two `words`, three\n").unwrap();
    fs::write(top.path().join("B.md"), "").unwrap();
    let fault = |link: &str| fault(top.path(), Path::new("docs/a.md"), link);
    for good in ["a.md", "../B.md", "#one", "a.md#two-words-three", "../docs"] {
        assert_eq!(fault(good), None, "{good}");
    }
    for bad in ["b.md", "B.md", "../B.md#one", "#three"] {
        assert!(fault(bad).is_some(), "{bad}");
    }
}
