//! Papers of the design phase, which are not in the repository: docs/contract and docs/design.md say what they said.

use super::{none, regex, texts};
use regex_lite::Regex;

/// How they were cited. Brackets keep this file from finding itself.
const PAPERS: [&str; 10] = [
    r"(?i)\bdocuments? ?[0-9]{3}\b",
    r"\b00[0-9] §",
    r"\b00[0-9](, section|'s\b)",
    r"\bDESIG[N]\.md\b",
    r"\bCATALO[G]\b",
    r"(?i)\baddend[u]m\b",
    r"\b[Ii]ssues? [A-P]\b",
    r"\bnote[s]/[a-z]+\.md\b",
    r"\bstyl[e]\.md\b",
    r"(\.\./|/wor[k]/)share[d]\b",
];

/// Comments that are descriptions in `schemas/`, which stay byte for byte as they are until a tool's schema changes anyway.
const IN_SCHEMAS: [(&str, &str); 5] = [
    ("src/tools/metrics/job.rs", "`SamplingJobStatus`, and what else is known)."),
    ("src/tools/system/interfaces.rs", "000."),
    ("src/tools/system/interfaces.rs", "megabits a second, where the driver tells."),
    ("src/tools/system/interfaces.rs", "the Wi-Fi network it is in, as far as the driver and NetworkManager tell."),
    ("src/tools/system/interfaces.rs", "the netmask as a number of bits."),
];

/// One of these is in each such citation. To look for them first saves most of the time.
const HINTS: [&str; 8] = ["ocument", "00", "DESIG", "CATALO", "ddendu", "ssue", ".md", "shared"];

fn patterns() -> Vec<Regex> {
    PAPERS.iter().map(|pattern| regex(pattern)).collect()
}

/// Whether a line, as it goes on in the next one, cites such a paper. What only the next one says is its own affair.
fn cites(patterns: &[Regex], line: &str, next: &str) -> bool {
    let next = next.trim_start().trim_start_matches(['/', '!', '#']).trim_start();
    if !HINTS.iter().any(|hint| line.contains(hint)) {
        return false;
    }
    let joined = format!("{} {next}", line.trim_end());
    patterns.iter().any(|pattern| pattern.find(&joined).is_some_and(|found| found.start() < line.trim_end().len()))
}

#[test]
fn nothing_cites_a_paper_that_is_not_in_the_repository() {
    let patterns = patterns();
    let (mut wrong, mut excepted) = (Vec::new(), 0);
    for text in texts() {
        let lines: Vec<&str> = text.text.lines().collect();
        for (n, line) in lines.iter().enumerate() {
            if !cites(&patterns, line, lines.get(n + 1).unwrap_or(&"")) {
                continue;
            }
            // A crate may have got the file: its end says which one it is.
            let in_schema = |(file, end): &(&str, &str)| {
                let name = file.rsplit_once("/tools/").map_or(*file, |(_, name)| name);
                text.path.ends_with(name) && line.trim_start().starts_with("/// ") && line.ends_with(end)
            };
            if IN_SCHEMAS.iter().any(in_schema) {
                excepted += 1;
            } else {
                wrong.push(format!("{}:{}: {}", text.path.display(), n + 1, line.trim()));
            }
        }
    }
    none(wrong, "say it, or cite docs/contract, docs/design.md or a public specification");
    assert_eq!(excepted, IN_SCHEMAS.len(), "take the exceptions away that are not needed any more");
}

#[test]
fn each_way_of_citing_one_is_found() {
    let patterns = patterns();
    let paper = ["docu", "ment 00"].concat();
    for line in [
        format!("/// Bounds ({paper}0, section 5.4)."),
        format!("as {}s 001 and 003 have it", "Document".to_lowercase()),
        ["/// 00", "1 §4.4: ten minutes."].concat(),
        ["a command: 00", "1's fields"].concat(),
        ["see DESIGN", ".md"].concat(),
        ["the table of CATA", "LOG.md"].concat(),
        ["as the Adden", "dum has it"].concat(),
        ["what issu", "e I will do"].concat(),
        ["why: not", "es/mcp.md"].concat(),
    ] {
        assert!(cites(&patterns, &line, ""), "{line}");
    }
    let (line, next) = (["//! what it says (docu", "ment"].concat(), "//! 000 of the design).");
    assert!(cites(&patterns, &line, next) && !cites(&patterns, next, &line), "over the end of a line");
    for line in
        ["this document has 100 lines", "0.001 seconds", "issue 916 of archey4", "an issue", "RFC 4648, section 5"]
    {
        assert!(!cites(&patterns, line, ""), "{line}");
    }
}
