//! What `grep` of `logs.query_journal` finds: lines by their shown text, so that nobody reads a secret from what is found.

use super::journal::{Journal, line};
use serde_json::{Value, json};

/// Lines of one service that wrote secrets in several forms, and one that did not.
fn journal(secret: &str) -> Journal {
    Journal::with(
        [
            format!("login with password={secret}"),
            format!("GET https://ann:{secret}@example.org/ failed"),
            format!("Authorization: Bearer {secret}{secret}{secret}"),
            format!("{{\"api_key\": \"{secret}\"}}"),
            "the disk is full".to_owned(),
        ]
        .iter()
        .zip(0..)
        .map(|(text, number)| line(number, text))
        .collect::<String>(),
    )
}

/// The whole answer, but for what differs from call to call.
async fn found(journal: &Journal, mut args: Value) -> Value {
    args["order"] = json!("oldest_first");
    journal.ok(args).await
}

#[tokio::test]
async fn no_pattern_tells_one_secret_from_another() {
    let (right, wrong) = (journal("hunter2x"), journal("rumpelz9"));
    for pattern in [
        "hunter2x",
        "password=hunter2x$",
        "password=h",
        "password=[a-m]",
        "password=(hunter2x|.redacted.)",
        "ann:hunter",
        "Bearer h",
        "api_key.*h.*2",
        "^.{28}$",
        "x$",
    ] {
        for more in [json!({}), json!({ "limit": 1 })] {
            let mut args = json!({ "grep": pattern });
            args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert_eq!(found(&right, args.clone()).await, found(&wrong, args).await, "{pattern}");
        }
    }
}

#[tokio::test]
async fn a_line_is_found_by_what_is_shown_of_it() {
    let journal = journal("hunter2x");
    let messages = |answer: Value| -> Vec<String> {
        let entries = answer["entries"].as_array().unwrap().iter();
        entries.map(|entry| entry["message"].as_str().unwrap().to_owned()).collect()
    };
    let one = messages(found(&journal, json!({ "grep": r"password=\[redacted\]$" })).await);
    assert_eq!(one, ["login with password=[redacted]"]);
    assert_eq!(messages(found(&journal, json!({ "grep": "DISK" })).await), ["the disk is full"; 0]);
    assert_eq!(messages(found(&journal, json!({ "grep": "disk|full" })).await), ["the disk is full"]);
    assert_eq!(messages(found(&journal, json!({ "grep": "redacted" })).await).len(), 4);
}

#[tokio::test]
async fn a_full_page_says_whether_more_lines_fit_and_goes_on_behind_its_last() {
    let text = ["pump 1", "valve", "pump 2", "valve", "valve"];
    let lines: String = text.iter().zip(0..).map(|(text, number)| line(number, text)).collect();
    let journal = Journal::with(lines);
    let page = |limit: u32| found(&journal, json!({ "grep": "pump", "limit": limit }));
    let (one, two) = (page(1).await, page(2).await);
    assert_eq!((&one["has_more"], &one["next_cursor"]), (&json!(true), &json!("s=a;i=0")));
    assert_eq!((&two["has_more"], &two["next_cursor"]), (&json!(false), &json!("s=a;i=2")));
    // Behind all that was looked at, if the page had room for more.
    assert_eq!(page(3).await["next_cursor"], "s=a;i=4");
}
