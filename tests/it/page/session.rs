//! A cookie stands for a token's standing: no more, no longer, and nowhere else.

use super::{Browser, served};
use crate::support::served::{Pi, soon, token};
use contract::meta::Role;
use raspi_mcp::page::sessions::{COOKIE, LIFE};
use reqwest::Method;
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn a_token_gives_a_cookie_that_only_this_server_s_pages_send() {
    let (pi, admin, _) = served(|_| {}).await;
    let mut browser = Browser::of(&pi);
    assert_eq!(browser.session().await, json!({ "open": false }));
    let answer = browser.signs_in(Some(&admin)).await;
    let set = answer.headers()["set-cookie"].to_str().unwrap().to_owned();
    let (value, attributes) = set.split_once(';').unwrap();
    assert!(value.starts_with(&format!("{COOKIE}=")) && COOKIE.starts_with("__Host-"), "{set}");
    assert_eq!(attributes, " Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=43200");
    let shown = browser.session().await;
    assert_eq!(
        (&shown["open"], &shown["principal"], &shown["role"]),
        (&json!(true), &json!("page:admin"), &json!("admin"))
    );
    // The cookie is no token, nor the other way round.
    assert!(!set.contains(&admin));
    browser.cookie = Some(admin);
    assert_eq!(browser.session().await["open"], false);
}

#[tokio::test]
async fn a_wrong_token_gives_none_and_counts_as_everywhere() {
    let (pi, ..) = served(|_| {}).await;
    let mut browser = Browser::of(&pi);
    for status in [401; 10].into_iter().chain([429]) {
        let answer = browser.signs_in(Some("rmcp_wrong")).await;
        assert_eq!(answer.status(), status);
        assert!(!answer.headers().contains_key("set-cookie"));
    }
    assert_eq!(browser.signs_in(None).await.status(), 401, "and without a token");
    pi.audited(|record| record["tool"] == "access.authenticate" && record["args"]["reason"] == "unknown").await;
}

#[tokio::test]
async fn the_cookie_counts_below_page_and_nowhere_else() {
    let (pi, admin, _) = served(|_| {}).await;
    let browser = Browser::signed_in(&pi, &admin).await;
    let (status, answer) = browser.calls("test.echo", json!({ "text": "hello" })).await;
    assert_eq!((status, &answer["result"]["text"]), (200, &json!("hello")), "{answer}");
    for (method, path) in [
        (Method::POST, "/mcp"),
        (Method::POST, "/api/mcp"),
        (Method::GET, "/ws"),
        (Method::GET, "/metrics"),
        (Method::GET, "/photos/20261122T081600123Z-1f9a03c7.jpg"),
    ] {
        let request = browser.ask(method, path).header("content-type", "application/json").body("{}");
        // An Origin of its own is no stranger there; the cookie is.
        assert_eq!(request.send().await.unwrap().status(), 401, "{path}");
    }
    // Nor does a token count in a cookie's place.
    let stranger = Browser::of(&pi);
    let call = stranger.ask(Method::POST, "/page/call").bearer_auth(&admin).header("content-type", "application/json");
    assert_eq!(call.body("{}").send().await.unwrap().status(), 401);
}

#[tokio::test]
async fn the_role_is_the_token_s_and_the_audit_names_the_page() {
    let (pi, admin, reader) = served(|settings| settings.tools.enable.extend(["gpio".into()])).await;
    let weak = Browser::signed_in(&pi, &reader).await;
    let (_, refused) = weak.calls("gpio.write_pin", json!({ "pin": 17, "value": "high" })).await;
    assert_eq!(refused["error"]["data"]["error_code"], "permission_denied", "{refused}");
    pi.audited(|record| record["principal"] == "page:reader" && record["outcome"] == "permission_denied").await;
    let strong = Browser::signed_in(&pi, &admin).await;
    let (_, done) = strong.calls("gpio.write_pin", json!({ "pin": 17, "value": "high" })).await;
    assert!(done["result"].is_object(), "{done}");
    let record = pi.audited(|record| record["principal"] == "page:admin" && record["tool"] == "gpio.write_pin").await;
    assert_eq!((&record["role"], &record["door"]), (&json!("admin"), &json!("http")));
}

#[tokio::test]
async fn what_is_not_a_call_is_not_served_there() {
    let (pi, admin, _) = served(|_| {}).await;
    let browser = Browser::signed_in(&pi, &admin).await;
    for (method, path, status) in [
        (Method::GET, "/page/call", 405),
        (Method::POST, "/page/events", 405),
        (Method::PUT, "/page/session", 405),
        (Method::GET, "/page/nothing", 404),
        (Method::GET, "/page/", 404),
    ] {
        assert_eq!(browser.ask(method, path).send().await.unwrap().status(), status, "{path}");
    }
}

#[tokio::test]
async fn signing_out_ends_it_here_and_for_a_copy_of_the_cookie() {
    let (pi, admin, _) = served(|_| {}).await;
    let browser = Browser::signed_in(&pi, &admin).await;
    let mut events = browser.ask(Method::GET, "/page/events").send().await.unwrap();
    assert!(soon(events.chunk()).await.unwrap().is_some());
    let answer = browser.ask(Method::DELETE, "/page/session").send().await.unwrap();
    assert!(answer.headers()["set-cookie"].to_str().unwrap().ends_with("Max-Age=0"));
    assert_eq!(browser.calls("test.echo", json!({ "text": "x" })).await.0, 401);
    assert_eq!(browser.session().await, json!({ "open": false }));
    while soon(events.chunk()).await.unwrap_or(None).is_some() {}
}

#[tokio::test]
async fn a_revoked_token_ends_its_sessions_and_no_others() {
    let (pi, admin, reader) = served(|_| {}).await;
    let (gone, stays) = (Browser::signed_in(&pi, &reader).await, Browser::signed_in(&pi, &admin).await);
    let mut events = gone.ask(Method::GET, "/page/events").send().await.unwrap();
    assert!(soon(events.chunk()).await.unwrap().is_some());
    let tokens = &pi.server().pipeline.services.tokens;
    let kept = pi.server().pipeline.services.settings.access.tokens[..1].to_vec();
    tokens.replace(kept);
    assert_eq!(gone.calls("test.echo", json!({ "text": "x" })).await.0, 401);
    assert_eq!(gone.session().await["open"], false);
    // Its stream ends, or its connection with it.
    while let Ok(Some(_)) = soon(events.chunk()).await {}
    assert_eq!(stays.calls("test.echo", json!({ "text": "x" })).await.0, 200);
}

#[tokio::test]
async fn a_session_ends_after_twelve_hours_whatever_the_wall_clock_says() {
    let (pi, admin, _) = served(|_| {}).await;
    let browser = Browser::signed_in(&pi, &admin).await;
    tokio::time::pause();
    tokio::time::advance(LIFE - Duration::from_secs(60)).await;
    tokio::time::resume();
    assert_eq!(browser.session().await["open"], true);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();
    assert_eq!(browser.session().await["open"], false);
    assert_eq!(browser.calls("test.echo", json!({ "text": "x" })).await.0, 401);
}

#[tokio::test]
async fn a_session_is_no_longer_than_its_token() {
    let (short, mut setting) = token("short", Role::Admin);
    setting.expires = Some(time::OffsetDateTime::now_utc() + Duration::from_secs(3600));
    let pi = Pi::with(|settings| {
        settings.access.require_token = true;
        settings.access.tokens = vec![setting];
    })
    .await;
    let mut browser = Browser::of(&pi);
    let answer = browser.signs_in(Some(&short)).await;
    let set = answer.headers()["set-cookie"].to_str().unwrap();
    let age: u64 = set.rsplit_once("Max-Age=").unwrap().1.parse().unwrap();
    assert!((3500..=3600).contains(&age), "{age}");
}

#[tokio::test]
async fn where_no_token_is_asked_for_none_is_needed_and_the_role_is_the_same() {
    let pi = Pi::with(|settings| settings.access.loopback_role = Role::ReadOnly).await;
    let mut browser = Browser::of(&pi);
    assert_eq!(browser.calls("test.echo", json!({ "text": "x" })).await.0, 401, "a session is needed all the same");
    assert_eq!(browser.signs_in(None).await.status(), 200);
    let shown = browser.session().await;
    assert_eq!((&shown["principal"], &shown["role"]), (&json!("page:@loopback"), &json!("read_only")));
}
