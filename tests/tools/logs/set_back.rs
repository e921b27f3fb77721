//! `logs.query_journal` with a range of time, where the clock was set back between two boots.

use super::journal::{Journal, line};
use serde_json::{Value, json};

/// Boot A writes until 14:30:30, when the power is cut. Boot B starts with the clock that was saved at 14:10:01, until
/// the network sets it to 14:35:20. In seconds after 14:10.
const WRITTEN: [(u64, &str); 7] = [
    (0, "A starts"),
    (1210, "A works"),
    (1230, "A's last words"),
    (1, "B starts"),
    (5, "B waits for the network"),
    (1520, "B has the time"),
    (1600, "B works"),
];

fn journal(newest_first: bool) -> Journal {
    let mut lines: Vec<String> = WRITTEN.iter().map(|(at, text)| line(*at, text)).collect();
    if newest_first {
        lines.reverse();
    }
    let journal = Journal::with(lines.concat());
    journal.file(
        "boots",
        "IDX BOOT ID FIRST ENTRY LAST ENTRY\n\
         -1 0f0c01 Thu 2026-01-15 14:10:00 UTC Thu 2026-01-15 14:30:30 UTC\n\
         0 0f0c02 Thu 2026-01-15 14:10:01 UTC Thu 2026-01-15 14:36:40 UTC\n",
    );
    journal
}

fn messages(answer: &Value) -> Vec<&str> {
    answer["entries"].as_array().unwrap().iter().map(|entry| entry["message"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_last_words_before_a_power_cut_are_found() {
    for (range, found) in [
        (json!({ "since": "2026-01-15T14:20:00Z" }), &["A works", "A's last words", "B has the time", "B works"][..]),
        (json!({ "since": "2026-01-15T14:30:00Z", "until": "2026-01-15T14:34:00Z" }), &["A works", "A's last words"]),
        (json!({ "until": "2026-01-15T14:10:00Z" }), &["A starts"]),
    ] {
        let mut expected = found.to_vec();
        for newest_first in [false, true] {
            let journal = journal(newest_first);
            let mut args = range.clone();
            args["order"] = json!(if newest_first { "newest_first" } else { "oldest_first" });
            let answer = journal.ok(args).await;
            assert_eq!(messages(&answer), expected, "{range}");
            assert!(answer["note"].as_str().unwrap().contains("set back"), "{answer}");
            let asked = journal.read("args");
            assert!(!asked.contains("--since") && !asked.contains("--until"), "{asked}");
            expected.reverse();
        }
    }
}

#[tokio::test]
async fn a_journal_whose_boots_follow_each_other_is_asked_for_the_range() {
    let journal = journal(false);
    journal.file(
        "boots",
        "-1 0f Thu 2026-01-15 14:10:00 UTC—Thu 2026-01-15 14:30:30 UTC\n \
         0 0e Thu 2026-01-15 14:30:30 UTC—Thu 2026-01-15 14:36:40 UTC\n",
    );
    let answer = journal.ok(json!({ "since": "2026-01-15T14:00:00Z", "order": "oldest_first" })).await;
    assert_eq!((answer.get("note"), messages(&answer).len()), (None, WRITTEN.len()));
    assert!(journal.read("args").contains("--since=@"));
}
