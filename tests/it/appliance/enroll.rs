//! The first approver of a machine that has an owner: by a code on its screen, and an admin's token.

use super::{
    approvers::approver,
    claim::{Screen, shows},
    fresh::{Fresh, Up},
    token,
};
use crate::support::served::soon;
use agent::{approvers::Vouched, operations::approvals::AddApprover};
use appliance::Code;
use contract::meta::Role;
use serde_json::{Value, json};
use std::{fs, time::Duration};

/// A machine with an owner, and the owner's token.
async fn owned() -> (Fresh, Up, String) {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let token = up.offered(&fresh.code()).await;
    assert_eq!(up.shows(&token).await.0, 200);
    (fresh, up, token)
}

/// `POST /approvals/enroll`: its status and answer.
async fn post(up: &Up, token: &str, body: Option<Value>) -> (u16, Value) {
    let post = up.client().post(up.url("/approvals/enroll")).bearer_auth(token);
    let post = match body {
        Some(body) => post.json(&body),
        None => post,
    };
    let response = soon(post.send()).await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

fn why(refusal: &Value) -> &str {
    refusal["error"]["message"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn an_admin_asks_and_whoever_sees_the_screen_enrols() {
    let (fresh, up, token) = owned().await;
    let anna = approver("anna");
    let early = json!({ "code": Code::mint().unwrap().to_string(), "approver": anna });
    let (status, refusal) = post(&up, &token, Some(early)).await;
    assert_eq!((status, why(&refusal)), (409, "no claim is open on this machine"), "nobody asked for a code");
    let (status, opened) = post(&up, &token, None).await;
    assert_eq!((status, &opened["tries_left"]), (200, &json!(5)), "{opened}");
    assert!(opened["seconds"].as_u64().is_some_and(|seconds| (890..=900).contains(&seconds)), "{opened}");

    // What `raspi-mcp claim --show` shows.
    let (screen, show, code) = (Screen::default(), shows(&fresh, 8443), fresh.code());
    let mut output = screen.clone();
    let showing = tokio::spawn(async move { show.run(&mut output, std::future::pending()).await });
    let device = fresh.folder().device().unwrap();
    let seen = async {
        while !screen.seen().contains("5 tries are left") {
            tokio::task::yield_now().await;
        }
        screen.seen()
    };
    let seen = soon(seen).await;
    for part in [&code.to_string(), &device, "raspi-mcp approver enroll --url https://192.0.2.7:8443 --pin sha256:"] {
        assert!(seen.contains(part), "{part} in {seen}");
    }

    let bring = |code: &str| json!({ "code": code, "approver": anna });
    // A slip, and what is no approver: no try. Another code: one.
    let slip = format!("8{}", &code.to_string()[1..]);
    assert_eq!(post(&up, &token, Some(bring(&slip))).await.0, 400);
    let nobody = json!({ "code": code.to_string(), "approver": { "name": "x", "kind": "cli", "key": "AAAA" } });
    assert_eq!(post(&up, &token, Some(nobody)).await.0, 400);
    assert_eq!(post(&up, &token, Some(json!({ "code": code.to_string() }))).await.0, 400);
    assert_eq!(fresh.tries_left(), 5);
    let (status, refusal) = post(&up, &token, Some(bring(&Code::mint().unwrap().to_string()))).await;
    assert_eq!((status, why(&refusal)), (403, "that is not the code; 4 tries are left"));
    // It is no claim code: nobody becomes the owner by it.
    assert_eq!(up.brings(&code).await.0, 409);

    let (status, done) = post(&up, &token, Some(bring(&code.to_string()))).await;
    assert_eq!(status, 200, "{done}");
    let vouched: Vouched = serde_json::from_value(done["device"].clone()).unwrap();
    assert_eq!(vouched.check(Some(&device), &code.to_string(), Some(&anna.key)).unwrap(), device);
    let now = up.approvers().await;
    assert_eq!((now.len(), now[0].key.text()), (1, anna.key.as_str()));
    assert_eq!(now[0].added_by, "a code on the screen, asked for by token:owner");
    assert!(soon(showing).await.unwrap().unwrap());
    assert!(screen.seen().contains("enrolment is over") && !screen.seen().contains(&code.to_string()));
    let log = fresh.log();
    assert!(log.contains("enroll_approver") && !log.contains(&code.to_string()), "{log}");

    // A second approver takes the first one, or the console.
    for body in [None, Some(bring(&code.to_string()))] {
        let (status, refusal) = post(&up, &token, body).await;
        assert!(status == 409 && why(&refusal).contains("has an approver"), "{refusal}");
    }
    assert!(fresh.folder().claim().unwrap().is_none());
}

#[tokio::test]
async fn five_wrong_codes_end_it_and_the_window_too() {
    let (fresh, up, token) = owned().await;
    let bring = |code: &Code| Some(json!({ "code": code.to_string(), "approver": approver("anna") }));
    post(&up, &token, None).await;
    for left in (0..5).rev() {
        let (status, refusal) = post(&up, &token, bring(&Code::mint().unwrap())).await;
        assert_eq!((status, &refusal["error"]["data"]["details"]["tries_left"]), (403, &json!(left)), "{refusal}");
    }
    let code = fresh.code();
    assert_eq!(post(&up, &token, bring(&code)).await.0, 429, "the right one is not looked at");
    // Asking again grants no new tries as long as the window lasts.
    let (_, opened) = post(&up, &token, None).await;
    assert_eq!((&opened["tries_left"], fresh.code().is(&code)), (&json!(0), true), "{opened}");

    fresh.folder().close_claim().unwrap();
    fresh.folder().open_claim(Duration::from_millis(1)).unwrap();
    let code = fresh.code();
    let (status, refusal) = post(&up, &token, bring(&code)).await;
    assert_eq!((status, why(&refusal)), (409, "the time for a claim is over"));
    let (_, opened) = post(&up, &token, None).await;
    assert_eq!((&opened["tries_left"], fresh.code().is(&code)), (&json!(5), false), "another code");
    let (status, done) = post(&up, &token, bring(&fresh.code())).await;
    assert_eq!(status, 200, "{done}");
}

#[tokio::test]
async fn only_an_admins_token_asks_and_only_where_nobody_approves_yet() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    assert_eq!(post(&up, "rmcp_none", None).await.0, 403, "no owner, no enrolment");
    let owner = up.offered(&fresh.code()).await;
    assert_eq!(up.shows(&owner).await.0, 200);
    up.stops().await;
    let (ops, lines) = token("phone", Role::OpsRw);
    let site = fresh.places().site_dir;
    fs::create_dir_all(&site).unwrap();
    fs::write(site.join("10-tokens.toml"), lines).unwrap();
    let up = fresh.starts().await;
    let (status, refusal) = post(&up, ops.reveal(), None).await;
    assert!(status == 403 && why(&refusal).contains("admin's bearer token"), "{refusal}");
    assert_eq!(post(&up, "rmcp_wrong", None).await.0, 401);
    let none = up.client().post(up.url("/approvals/enroll")).send();
    assert_eq!(soon(none).await.unwrap().status().as_u16(), 401);
    let get = up.client().get(up.url("/approvals/enroll")).bearer_auth(&owner).send();
    assert_eq!(soon(get).await.unwrap().status().as_u16(), 405);
    assert!(fresh.folder().claim().unwrap().is_none(), "no code was made");

    up.at_the_console::<AddApprover>(approver("anna")).await;
    let (status, refusal) = post(&up, &owner, None).await;
    assert!(status == 409 && why(&refusal).contains("has an approver"), "{refusal}");
    assert!(fresh.folder().claim().unwrap().is_none(), "no code was made");
}

#[tokio::test]
async fn approvers_that_this_version_cannot_read_open_no_enrolment() {
    let stranger =
        json!({ "name": "anna", "kind": "of-a-newer-release", "key": "AAAA", "added_ms": 1, "added_by": "root" });
    for content in ["[{".to_owned(), "{}".to_owned(), json!([stranger]).to_string()] {
        let (fresh, up, token) = owned().await;
        up.stops().await;
        let file = fresh.places().agent_state_dir.join("approvers.json");
        fs::write(&file, &content).unwrap();
        let up = fresh.starts().await;
        let (status, refusal) = post(&up, &token, None).await;
        assert!(status == 409 && why(&refusal).contains("has an approver"), "{content}: {status} {refusal}");
        assert!(fresh.folder().claim().unwrap().is_none(), "no code is shown");
        assert_eq!(fs::read_to_string(&file).unwrap(), content, "left alone");
        up.stops().await;
    }
}
