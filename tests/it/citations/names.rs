//! Files that are named by the end of their path, as `slots/table.rs`: some file of the repository ends so.

use super::{here, none, regex, texts};
use std::{collections::BTreeSet, path::Path};

/// A Rust or Markdown file, with the folders that are named before it.
const NAME: &str = r#"(?:^|[\s(`"'\[|,])([A-Za-z0-9_./{},-]*[A-Za-z0-9_}]\.(?:rs|md))\b"#;

/// Every end of a path, in whole parts.
fn ends<'a>(paths: impl Iterator<Item = &'a Path>) -> BTreeSet<String> {
    let mut ends = BTreeSet::new();
    for path in paths {
        let parts: Vec<String> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        ends.extend((0..parts.len()).map(|n| parts[n..].join("/")));
    }
    ends
}

/// The files that a line names; what is made stands in `build/`.
fn named(name: &regex_lite::Regex, line: &str) -> Vec<String> {
    let found = name.captures_iter(line).filter_map(|found| Some(found.get(1)?.as_str()));
    let whole = found.flat_map(super::paths::expand).map(|path| path.trim_start_matches(['.', '/']).to_owned());
    whole.filter(|path| !path.starts_with("build/")).collect()
}

#[test]
fn every_source_and_page_that_is_named_is_there() {
    let (texts, name) = (texts(), regex(NAME));
    let ends = ends(texts.iter().map(|text| text.path.as_path()));
    let (mut seen, mut wrong) = (0, Vec::new());
    for text in texts.iter().filter(|text| !super::HISTORY.iter().any(|history| text.path == Path::new(history))) {
        for (n, line) in text.prose().filter(|(_, line)| line.contains(".rs") || line.contains(".md")) {
            for file in named(&name, line) {
                seen += 1;
                // A link of a folder, which is followed and not listed.
                if !ends.contains(&file) && !here().join(&file).exists() {
                    wrong.push(format!("{}:{n}: {file}", text.path.display()));
                }
            }
        }
    }
    assert!(seen > 300, "only {seen} names were found");
    none(wrong, "no file of the repository ends so");
}

#[test]
fn a_name_is_the_end_of_a_path_in_whole_parts() {
    let ends = ends([Path::new("src/update/slots/table.rs"), Path::new("README.md")].into_iter());
    for good in ["table.rs", "slots/table.rs", "src/update/slots/table.rs", "README.md"] {
        assert!(ends.contains(good), "{good}");
    }
    for bad in ["able.rs", "update/table.rs", "lots/table.rs", "docs/README.md"] {
        assert!(!ends.contains(bad), "{bad}");
    }
    let name = regex(NAME);
    let dots = ["see `slots/ta", "ble.rs`, (access/{a,b}.", "rs) and build/x.m", "d."].concat();
    assert_eq!(named(&name, &dots), ["slots/table.rs", "access/a.rs", "access/b.rs"]);
}
