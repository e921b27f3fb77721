//! A person's answer in the client's own dialogue: by requests in the revisions with sessions, in results since 2026-07-28. It
//! counts for clients that the owner listed, for one call as it was shown, once.

use crate::support::served::{Answer, Door, Pi, Wire, modern_meta, token};
use agent::operations as op;
use contract::meta::Role;
use serde_json::{Value, json};

const DOORS: [Door; 4] = [Door::Stdio, Door::Unix, Door::Http, Door::Ws];
const TOOL: &str = "test.ask";

async fn listed() -> Pi {
    Pi::with(|settings| {
        settings.approval.wait_seconds = 0;
        settings.approval.elicitation_clients.push("a client".into());
    })
    .await
}

/// Calls `tool` as a 2026-07-28 client that shows forms, with `more` beside the arguments.
async fn call(wire: &mut Wire, tool: &str, args: Value, more: &Value) -> Answer {
    let mut params = modern_meta(json!({"name": tool, "arguments": args}));
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    wire.modern("tools/call", Some(tool));
    wire.request("tools/call", params).await
}

/// The state of the question that this call was answered with.
#[track_caller]
fn asked(answer: &Answer) -> Value {
    let result = answer.result();
    assert_eq!(result["resultType"], "input_required", "{answer:#?}");
    let question = &result["inputRequests"]["approval"];
    assert_eq!(question["method"], "elicitation/create");
    assert!(question["params"]["message"].as_str().unwrap().starts_with("Allow this call, once?"), "{question:#}");
    assert_eq!(question["params"]["requestedSchema"]["required"], json!(["allow"]));
    result["requestState"].clone()
}

fn said(state: &Value, answer: Value) -> Value {
    json!({ "requestState": state, "inputResponses": { "approval": answer } })
}

fn yes(state: &Value) -> Value {
    said(state, json!({"action": "accept", "content": {"allow": true}}))
}

fn ran(pi: &Pi) -> usize {
    *pi.bench.ran.borrow()
}

#[tokio::test]
async fn a_yes_lets_one_call_through_and_the_audit_says_whose_it_was() {
    let pi = listed().await;
    for (n, door) in DOORS.into_iter().enumerate() {
        let mut wire = pi.on(door).await;
        let state = asked(&call(&mut wire, TOOL, json!({}), &json!({})).await);
        assert_eq!(ran(&pi), n, "{door:?}: nothing runs before the answer");
        call(&mut wire, TOOL, json!({}), &yes(&state)).await.ok();
        assert_eq!(ran(&pi), n + 1);
        // The same answer once more is an answer to a question that is over: there is a new one.
        let again = asked(&call(&mut wire, TOOL, json!({}), &yes(&state)).await);
        assert_ne!(again, state);
        assert_eq!(ran(&pi), n + 1, "{door:?}: an approval is good for one call");
        pi.withdraw_asks().await;
    }
    let record = pi.audited(|record| record["tool"] == TOOL && record["outcome"] == "ok").await;
    assert_eq!(record["approval"]["how"], "elicitation by a client");
    pi.audited(|record| record["tool"] == TOOL && record["outcome"] == "failed_precondition").await;
}

#[tokio::test]
async fn a_no_stays_a_no_whatever_comes_after() {
    let pi = listed().await;
    for no in [json!({"action": "decline"}), json!({"action": "accept", "content": {"allow": false}})] {
        let mut wire = pi.on(Door::Stdio).await;
        let args = json!({ "text": no["action"] });
        let tool = "test.ask_with";
        let state = asked(&call(&mut wire, tool, args.clone(), &json!({})).await);
        call(&mut wire, tool, args.clone(), &said(&state, no)).await.failed("permission_denied");
        for more in [yes(&state), json!({})] {
            call(&mut wire, tool, args.clone(), &more).await.failed("permission_denied");
        }
    }
    assert_eq!(ran(&pi), 0);
}

/// The question goes on waiting, at the console and for the next call.
#[tokio::test]
async fn a_dismissed_dialogue_decides_nothing() {
    let pi = listed().await;
    let mut wire = pi.on(Door::Stdio).await;
    let state = asked(&call(&mut wire, TOOL, json!({}), &json!({})).await);
    for odd in [json!({"action": "cancel"}), json!({}), json!("yes"), json!({"action": "ACCEPT"}), json!(null)] {
        let answer = call(&mut wire, TOOL, json!({}), &said(&state, odd)).await;
        assert!(answer.message.get("error").is_some() || answer.is_refusal("failed_precondition"), "{answer:#?}");
    }
    assert_eq!(ran(&pi), 0);
    let server = pi.server();
    assert_eq!(
        server.pipeline.services.agent.get::<op::asks::ListAsks>().await.unwrap().len(),
        1,
        "it is one question all the time"
    );
    assert_eq!(asked(&call(&mut wire, TOOL, json!({}), &json!({})).await), state);
    call(&mut wire, TOOL, json!({}), &yes(&state)).await.ok();
    assert_eq!(ran(&pi), 1);
}

#[tokio::test]
async fn a_yes_to_another_call_or_of_another_caller_is_none() {
    let (secret, setting) = token("other", Role::Admin);
    let pi = Pi::with(|settings| {
        settings.approval.wait_seconds = 0;
        settings.approval.elicitation_clients.push("a client".into());
        settings.access.tokens.push(setting);
    })
    .await;
    let mut wire = pi.on(Door::Stdio).await;
    let tool = "test.ask_with";
    let state = asked(&call(&mut wire, tool, json!({"text": "low"}), &json!({})).await);
    // Other arguments, another tool: a question of its own, whatever the client says.
    asked(&call(&mut wire, tool, json!({"text": "high"}), &yes(&state)).await);
    asked(&call(&mut wire, TOOL, json!({}), &yes(&state)).await);
    // Another caller with the very same call.
    let mut other = pi.on(Door::Http).await;
    let mut params = modern_meta(json!({"name": tool, "arguments": {"text": "low"}}));
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
    for (key, value) in yes(&state).as_object().unwrap() {
        params[key] = value.clone();
    }
    other.modern("tools/call", Some(tool));
    other.post().headers.push(("authorization".into(), format!("Bearer {secret}")));
    asked(&other.request("tools/call", params).await);
    assert_eq!(ran(&pi), 0);
    // The state alone is no answer, and an answer without the state is none.
    let mut bare = yes(&state);
    bare.as_object_mut().unwrap().remove("requestState");
    for more in [bare, json!({ "requestState": state })] {
        asked(&call(&mut wire, tool, json!({"text": "low"}), &more).await);
    }
    // A state that was made up or changed is refused as such.
    let changed = state.as_str().unwrap().replacen('7', "6", 1);
    for bad in [json!("made up"), json!(""), json!(changed)] {
        call(&mut wire, tool, json!({"text": "low"}), &yes(&bad)).await.fault(-32602);
    }
    assert_eq!(ran(&pi), 0);
    call(&mut wire, tool, json!({"text": "low"}), &yes(&state)).await.ok();
    assert_eq!(ran(&pi), 1);
}

/// Two people: one says yes elsewhere, and the client's user no. The no counts, in this call and after it.
#[tokio::test]
async fn a_no_takes_back_a_yes_from_elsewhere_that_was_not_used() {
    let pi = listed().await;
    let server = pi.server();
    let agent = &server.pipeline.services.agent;
    let mut wire = pi.on(Door::Stdio).await;
    let state = asked(&call(&mut wire, TOOL, json!({}), &json!({})).await);
    let waiting = agent.get::<op::asks::ListAsks>().await.unwrap().remove(0);
    agent
        .call::<op::asks::AnswerElicited>(op::asks::ElicitedRequest {
            id: waiting.id.clone(),
            approve: true,
            client: "a client".into(),
        })
        .await
        .unwrap();
    let no = said(&state, json!({"action": "decline"}));
    call(&mut wire, TOOL, json!({}), &no).await.failed("permission_denied");
    call(&mut wire, TOOL, json!({}), &yes(&state)).await.failed("permission_denied");
    assert_eq!(ran(&pi), 0);
}

#[tokio::test]
async fn a_question_that_is_over_cannot_be_answered() {
    let pi = listed().await;
    let mut wire = pi.on(Door::Stdio).await;
    let state = asked(&call(&mut wire, TOOL, json!({}), &json!({})).await);
    // Withdrawn; what has expired goes the same way (agent/asks).
    pi.withdraw_asks().await;
    assert_ne!(asked(&call(&mut wire, TOOL, json!({}), &yes(&state)).await), state);
    assert_eq!(ran(&pi), 0);
}

#[tokio::test]
async fn a_client_that_is_not_listed_or_shows_no_forms_waits_for_the_console() {
    let pi = listed().await;
    let mut wire = pi.on(Door::Stdio).await;
    for (client, able) in [
        ("another client", json!({"elicitation": {}})),
        ("a client", json!({})),
        ("a client", json!({"elicitation": {"url": {}}})),
    ] {
        let mut params = modern_meta(json!({"name": TOOL, "arguments": {}}));
        params["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = json!(client);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = able;
        params["inputResponses"] = yes(&json!(""))["inputResponses"].clone();
        wire.request("tools/call", params).await.failed("failed_precondition");
    }
    assert_eq!(ran(&pi), 0);
}

/// The revisions with sessions: the server asks while the call runs.
#[tokio::test]
async fn a_session_is_asked_while_its_call_runs() {
    let pi = Pi::with(|settings| settings.approval.elicitation_clients.push("a client".into())).await;
    for (n, door) in Door::STREAMS.into_iter().enumerate() {
        for (answer, done) in
            [(json!({"action": "accept", "content": {"allow": true}}), true), (json!({"action": "decline"}), false)]
        {
            let mut wire = pi.on(door).await;
            let params = json!({
                "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
                "clientInfo": {"name": "a client", "version": "1"},
            });
            wire.request("initialize", params).await.result();
            wire.notify("notifications/initialized", json!({}));
            let id = wire
                .ask("tools/call", json!({"name": "test.ask_with", "arguments": {"text": format!("{door:?}{done}")}}));
            let question = wire.next().await.unwrap().message;
            assert_eq!(question["method"], "elicitation/create", "{question:#}");
            wire.raw(json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}).to_string());
            let answer = wire.answer_to(id).await;
            if done {
                drop(answer.ok().clone())
            } else {
                drop(answer.failed("permission_denied").clone())
            }
            assert_eq!(ran(&pi), n + 1);
        }
    }
}
