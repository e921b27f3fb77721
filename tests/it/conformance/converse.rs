//! Tools that talk to their caller before they answer, in the revisions with sessions.

use crate::support::served::{Answer, Door, Pi, Wire};
use serde_json::{Value, json};

async fn conversation(pi: &Pi, door: Door) -> Wire {
    let mut wire = pi.on(door).await;
    wire.initialize("2025-11-25", "a client").await.result();
    wire
}

fn of<'a>(seen: &'a [Answer], method: &str) -> Vec<&'a Value> {
    seen.iter().filter(|seen| seen.message["method"] == method).map(|seen| &seen.message["params"]).collect()
}

const DOORS: [Door; 4] = [Door::Stdio, Door::Unix, Door::Http, Door::Ws];

#[tokio::test]
async fn a_tool_asks_and_goes_on_with_the_answer() {
    let pi = Pi::with_fixtures().await;
    for door in DOORS {
        let mut wire = conversation(&pi, door).await;
        let id = wire.ask("tools/call", json!({"name": "test_elicitation", "arguments": {"message": "Who?"}}));
        let question = wire.next().await.unwrap().message;
        assert_eq!(
            (&question["method"], &question["params"]["message"]),
            (&json!("elicitation/create"), &json!("Who?"))
        );
        let result = json!({"action": "accept", "content": {"username": "ada", "email": "ada@example.org"}});
        wire.raw(json!({"jsonrpc": "2.0", "id": question["id"], "result": result}).to_string());
        let answer = wire.answer_to(id).await;
        let text = answer.result()["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("action=accept") && text.contains(r#""username":"ada""#), "{door:?}: {text}");
    }
}

#[tokio::test]
async fn a_client_that_refuses_to_be_asked_is_a_failure_of_the_call() {
    let pi = Pi::with_fixtures().await;
    let mut wire = conversation(&pi, Door::Stdio).await;
    let id = wire.ask("tools/call", json!({"name": "test_sampling", "arguments": {"prompt": "Why?"}}));
    let question = wire.next().await.unwrap().message;
    assert_eq!(question["params"]["messages"][0]["content"]["text"], "Why?");
    let error = json!({"code": -32601, "message": "I have no model"});
    wire.raw(json!({"jsonrpc": "2.0", "id": question["id"], "error": error}).to_string());
    let answer = wire.answer_to(id).await;
    let message = answer.failed("capability_missing")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("I have no model"), "{message}");
}

#[tokio::test]
async fn log_messages_come_from_the_asked_severity_on() {
    let pi = Pi::with_fixtures().await;
    // Over HTTP they take the session's GET stream, which the official suite opens and this harness does not.
    for door in Door::STREAMS {
        let mut wire = conversation(&pi, door).await;
        for (level, expected) in [("debug", 3), ("info", 3), ("warning", 0)] {
            wire.request("logging/setLevel", json!({"level": level})).await.result();
            wire.seen.clear();
            wire.call("test_tool_with_logging", json!({})).await.result();
            let logged = of(&wire.seen, "notifications/message");
            assert_eq!(logged.len(), expected, "{door:?} at {level}: {logged:?}");
            assert!(logged.iter().all(|params| params["level"] == "info" && params["logger"].is_string()));
        }
        wire.request("logging/setLevel", json!({"level": "loud"})).await.fault(-32602);
    }
}

#[tokio::test]
async fn what_was_reported_just_before_the_answer_still_comes_before_it() {
    let pi = Pi::with_fixtures().await;
    for door in DOORS {
        let mut wire = conversation(&pi, door).await;
        let params = json!({"name": "test_tool_with_progress", "arguments": {}, "_meta": {"progressToken": "p"}});
        wire.request("tools/call", params).await.result();
        let steps: Vec<_> = of(&wire.seen, "notifications/progress").iter().map(|params| &params["progress"]).collect();
        assert_eq!(steps, [0.0, 50.0, 100.0], "{door:?}");
    }
}

#[tokio::test]
async fn a_change_reaches_the_other_conversations() {
    let pi = Pi::with_fixtures().await;
    let mut listener = conversation(&pi, Door::Ws).await;
    // The server knows of the conversation once it has answered in it after "initialized".
    listener.request("ping", json!({})).await.result();
    conversation(&pi, Door::Stdio).await.call("test_trigger_prompt_change", json!({})).await.result();
    let news = listener.next().await.unwrap();
    assert_eq!(news.message["method"], "notifications/prompts/list_changed");
}

#[tokio::test]
async fn where_there_is_no_conversation_a_tool_that_asks_says_so() {
    let pi = Pi::with_fixtures().await;
    // Neither session nor 2026-07-28: nothing could be asked.
    for mut wire in pi.on_all(&[Door::Http, Door::Api]).await {
        let answer = wire.call("test_sampling", json!({"prompt": "Why?"})).await;
        let hint = answer.under(200).failed("failed_precondition")["hint"].as_str().unwrap().to_owned();
        assert!(hint.contains("/mcp"), "{hint}");
    }
}
