//! `tools.search`: whether people who do not know the tools find them.

use crate::support::served::{Door, Pi, Wire};
use serde_json::{Value, json};

/// `question<TAB>tools separated by spaces`, any of which is right.
const QUESTIONS: &str = include_str!("../fixtures/questions.tsv");
const MORE_QUESTIONS: &str = include_str!("../fixtures/more-questions.tsv");
const THIRD_QUESTIONS: &str = include_str!("../fixtures/third-questions.tsv");

async fn names(wire: &mut Wire, args: Value) -> Vec<String> {
    let answer = wire.call("tools.search", args).await;
    answer.ok()["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_question_in_a_persons_words_has_the_right_tool_among_the_first_three() {
    let pi = Pi::standard(|_| {}).await;
    let mut wire = pi.on(Door::Stdio).await;
    for questions in [QUESTIONS, MORE_QUESTIONS, THIRD_QUESTIONS] {
        let (mut asked, mut missed) = (0, Vec::new());
        for line in questions.lines().filter(|line| !line.starts_with('#')) {
            let (question, right) = line.split_once('\t').expect("a tab");
            let first = names(&mut wire, json!({"query": question, "limit": 3})).await;
            asked += 1;
            if !right.split(' ').any(|name| first.iter().any(|found| found == name)) {
                missed.push(format!("{question}: {first:?}, not {right}"));
            }
        }
        println!("{} of {asked} questions have the right tool among the first three", asked - missed.len());
        println!("{}", missed.join("\n"));
        assert!(asked >= 60 && missed.len() * 20 <= asked, "{}", missed.join("\n"));
    }
}

#[tokio::test]
async fn slips_of_the_finger_are_read_as_what_was_meant_and_the_answer_says_so() {
    let pi = Pi::standard(|_| {}).await;
    let mut wire = pi.on(Door::Stdio).await;
    for (query, right) in [
        ("restrat nginx", "service.restart"),
        ("temprature", "system.get_health_snapshot"),
        ("blnk LED", "gpio.write_pin"),
        ("rebot", "system.reboot"),
        ("tak a pictuer", "camera.capture"),
        ("jurnal", "logs.query_journal"),
    ] {
        let answer = wire.call("tools.search", json!({"query": query, "limit": 3})).await;
        let first = names(&mut wire, json!({"query": query, "limit": 3})).await;
        assert!(first.iter().any(|name| name == right), "{query}: {first:?}");
        assert!(answer.ok()["note"].as_str().unwrap().contains("was read as"), "{query}: {answer:#?}");
    }
    assert_eq!(wire.call("tools.search", json!({"query": "reboot"})).await.ok().get("note"), None);
}

#[tokio::test]
async fn an_answer_without_tools_says_why() {
    let pi = Pi::standard(|_| {}).await;
    let mut wire = pi.on(Door::Stdio).await;
    for (args, why) in [
        (json!({"query": "qwzxv"}), "no tool has these words"),
        (json!({"query": "?!"}), "no tool has these words"),
        (json!({"query": "reboot", "namespace": "i2c"}), "not the namespace"),
        (json!({"query": "reboot", "max_tokens": 1}), "not the namespace or max_tokens"),
    ] {
        let answer = wire.call("tools.search", args.clone()).await;
        assert_eq!(answer.ok()["tools"], json!([]), "{args}");
        assert!(answer.ok()["note"].as_str().unwrap().contains(why), "{args}: {answer:#?}");
    }
    let answer = wire.call("tools.search", json!({"query": "qwzxv reboot"})).await;
    assert_eq!(answer.ok()["note"], "words of no tool: qwzxv");
}

/// The words of a query are searched for, not executed: FTS5 has operators, and SQL has quotes.
#[tokio::test]
async fn a_query_has_no_syntax() {
    let pi = Pi::standard(|_| {}).await;
    let mut wire = pi.on(Door::Stdio).await;
    for query in
        ["reboot AND", "NEAR(reboot", "\"reboot", "reboot*", "name:reboot", "^reboot", "-reboot", "reboot'; --"]
    {
        let first = names(&mut wire, json!({"query": query, "limit": 1})).await;
        assert_eq!(first, ["system.reboot"], "{query}");
    }
    // Every word of the longest query that a caller may send.
    let long = "reboot ".repeat(28);
    assert_eq!(names(&mut wire, json!({"query": long.trim(), "limit": 1})).await, ["system.reboot"]);
}

#[tokio::test]
async fn the_answer_is_of_one_namespace_where_that_is_wanted() {
    let pi = Pi::standard(|_| {}).await;
    let mut wire = pi.on(Door::Stdio).await;
    let found = names(&mut wire, json!({"query": "read the temperature", "namespace": "i2c"})).await;
    assert!(!found.is_empty() && found.iter().all(|name| name.starts_with("i2c.")), "{found:?}");
}
