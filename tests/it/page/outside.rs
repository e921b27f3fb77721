//! A tunnel or a proxy on this machine is not this machine: what it sends on needs a token, at every door of the listener.

use super::Browser;
use crate::support::served::{Pi, request, token};
use contract::{
    access::caller::{Caller, Transport},
    meta::Role,
};
use reqwest::{Method, RequestBuilder, header};
use serde_json::{Value, json};

/// Every door that tells callers apart.
const DOORS: [(Method, &str); 6] = [
    (Method::POST, "/mcp"),
    (Method::POST, "/api/mcp"),
    (Method::GET, "/ws"),
    (Method::GET, "/metrics"),
    (Method::POST, "/page/session"),
    (Method::GET, "/photos/20261122T081600123Z-1f9a03c7.jpg"),
];

const ADDED: [(&str, &str); 14] = [
    ("forwarded", "for=192.0.2.1"),
    ("x-forwarded-for", "192.0.2.1"),
    ("x-forwarded-host", "pi.example"),
    ("x-forwarded-proto", "https"),
    ("cf-connecting-ip", "192.0.2.1"),
    ("cf-ray", "0"),
    ("x-real-ip", "192.0.2.1"),
    ("via", "1.1 caddy"),
    ("true-client-ip", "192.0.2.1"),
    ("tailscale-user-login", "ann@example.org"),
    ("x-original-host", "pi.example"),
    ("x-original-forwarded-for", "192.0.2.1"),
    ("x-client-ip", "127.0.0.1"),
    ("x-forwarded-for", ""),
];

fn knock(browser: &Browser, method: &Method, path: &str) -> RequestBuilder {
    let body = request(&json!(1), "test.echo", &json!({}));
    let knock = browser.ask(method.clone(), path).header(header::CONTENT_TYPE, "application/json");
    if path == "/ws" {
        return knock
            .header("connection", "upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    }
    if *method == Method::GET { knock } else { knock.body(body) }
}

async fn refusal(knock: RequestBuilder) -> (u16, String) {
    let answer = knock.send().await.unwrap();
    let status = answer.status().as_u16();
    // What was let in to a WebSocket does not end.
    if status == 101 {
        return (status, String::new());
    }
    let body: Value = answer.json().await.unwrap_or_default();
    let reason = &body["error"]["data"]["details"]["reason"];
    (status, reason.as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn what_was_forwarded_is_never_anonymous_at_any_door() {
    let (secret, setting) = token("laptop", Role::ReadOnly);
    let pi = Pi::with(|settings| settings.access.tokens = vec![setting]).await;
    let browser = Browser::of(&pi);
    for (method, path) in &DOORS {
        let here = refusal(knock(&browser, method, path)).await;
        // A photo needs a token of everybody.
        assert_eq!(here.0 == 401, path.starts_with("/photos"), "{path} from here: {here:?}");
        for (name, value) in ADDED {
            let told = refusal(knock(&browser, method, path).header(name, value)).await;
            let why = if path.starts_with("/photos") { "missing" } else { "forwarded" };
            assert_eq!(told, (401, why.to_owned()), "{path} with {name}");
            let known = refusal(knock(&browser, method, path).header(name, value).bearer_auth(&secret)).await;
            assert_ne!(known.0, 401, "{path} with {name} and a token");
        }
    }
    pi.audited(|record| record["tool"] == "access.authenticate" && record["args"]["reason"] == "forwarded").await;
}

#[tokio::test]
async fn a_session_that_began_here_without_a_token_is_not_used_from_there() {
    let pi = Pi::start().await;
    let mut browser = Browser::of(&pi);
    assert_eq!(browser.signs_in(None).await.status(), 200);
    assert_eq!(browser.session().await["open"], true);
    let far = browser.ask(Method::GET, "/page/session").header("x-forwarded-for", "192.0.2.1").send().await.unwrap();
    assert_eq!(far.json::<Value>().await.unwrap()["open"], false);
    let call = browser.ask(Method::POST, "/page/call").header("x-forwarded-for", "192.0.2.1");
    let call = call.header("content-type", "application/json").body("{}").send().await.unwrap();
    assert_eq!(call.status(), 401);
}

#[tokio::test]
async fn a_name_beyond_this_machine_asks_every_caller_for_a_token() {
    for names in [vec!["pi.example"], vec!["localhost", "pi.local:8765"], vec!["192.0.2.1"]] {
        let (secret, setting) = token("laptop", Role::ReadOnly);
        let pi = Pi::with(|settings| {
            settings.http.allowed_hosts = names.iter().map(|name| (*name).to_owned()).collect();
            settings.access.tokens = vec![setting];
        })
        .await;
        let browser = Browser::of(&pi);
        for (method, path) in DOORS.iter().filter(|(_, path)| !path.starts_with("/photos")) {
            let plain = refusal(knock(&browser, method, path)).await;
            assert_eq!(plain, (401, "named".to_owned()), "{path}, names {names:?}");
            assert_ne!(refusal(knock(&browser, method, path).bearer_auth(&secret)).await.0, 401, "{path}");
        }
    }
    // Names of loopback name nobody else.
    let pi = Pi::with(|settings| settings.http.allowed_hosts = vec!["localhost:9000".into(), "127.0.0.1".into()]).await;
    let browser = Browser::of(&pi);
    assert_eq!(refusal(knock(&browser, &Method::POST, "/api/mcp")).await.0, 200);
}

#[tokio::test]
async fn the_owner_is_told_that_the_server_answers_from_outside() {
    let (_, setting) = token("laptop", Role::ReadOnly);
    let pi = Pi::with(|settings| settings.access.tokens = vec![setting]).await;
    let mut admin = pi.stdio(Caller::new("stdio", Role::Admin, Transport::Stdio));
    let status = admin.call("manage.get_server_status", json!({})).await;
    assert_eq!(status.ok().get("outside"), None);
    let browser = Browser::of(&pi);
    for path in ["/", "/api/mcp"] {
        let knock =
            browser.bare(Method::GET, path).header("accept", "text/html").header("cf-connecting-ip", "192.0.2.1");
        knock.send().await.unwrap();
    }
    let status = admin.call("manage.get_server_status", json!({})).await;
    let outside = &status.ok()["outside"];
    assert_eq!((&outside["requests"], &outside["sign"]), (&json!(2), &json!("the header cf-connecting-ip")));
    // Not for everybody.
    let mut reader = pi.stdio(Caller::new("stdio", Role::ReadOnly, Transport::Stdio));
    assert_eq!(reader.call("manage.get_server_status", json!({})).await.ok().get("outside"), None);
}
