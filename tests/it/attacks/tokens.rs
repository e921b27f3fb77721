//! Without a right token nobody gets anything beyond loopback.

use super::goodbye;
use crate::support::served::{
    Door, Pi, Wire,
    issuer::{AUDIENCE, Issuer, NAME},
    request,
    secure::{Owner, Secure},
    soon, token,
};
use contract::meta::Role;
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};
use std::time::Duration;
use time::OffsetDateTime;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

/// A server that knows the owner's token, an expired one, and an issuer.
async fn server() -> (Secure, Issuer, String) {
    let (issuer, owner) = (Issuer::new(), Owner::new());
    let (expired, mut setting) = token("old", Role::Admin);
    setting.expires = Some(OffsetDateTime::now_utc() - Duration::from_secs(1));
    let secure = owner
        .starts(|settings| {
            settings.access.tokens.push(setting);
            issuer.is_believed(settings, owner.folder());
        })
        .await;
    (secure, issuer, expired)
}

/// A call of a tool for admins.
fn call(secure: &Secure) -> RequestBuilder {
    let body = request(&json!(1), "test.admin", &json!({}));
    secure.client().post(secure.url("/api/mcp")).header("content-type", "application/json").body(body)
}

/// The reason it was refused for; the challenge must say the same.
async fn refused(response: Response) -> String {
    assert_eq!(response.status(), 401);
    let challenge = response.headers()["www-authenticate"].to_str().unwrap().to_owned();
    assert!(challenge.starts_with("Bearer realm=\"raspi-mcp\""), "{challenge}");
    let metadata = "resource_metadata=\"https://pi.example:8765/.well-known/oauth-protected-resource/mcp\"";
    assert!(challenge.ends_with(metadata), "{challenge}");
    let answer: Value = response.json().await.unwrap();
    assert_eq!(answer["error"]["data"]["error_code"], "unauthenticated");
    let reason = answer["error"]["data"]["details"]["reason"].as_str().unwrap().to_owned();
    assert_eq!(challenge.contains("error=\"invalid_token\""), reason != "missing", "{challenge}");
    reason
}

#[tokio::test]
async fn whatever_is_shown_but_a_right_token_is_refused() {
    let (secure, issuer, expired) = server().await;
    let claims = Issuer::claims("admin");
    let with = |change: &dyn Fn(&mut Value)| {
        let mut claims = claims.clone();
        change(&mut claims);
        issuer.signed(&json!({ "alg": "EdDSA", "kid": "ed" }), &claims)
    };
    let good = secure.token.clone();
    let cases: Vec<(String, &str)> = vec![
        (format!("Bearer {good}x"), "unknown"),
        ("Bearer rmcp_".into(), "unknown"),
        (format!("Bearer {expired}"), "expired"),
        (format!("Basic {good}"), "scheme"),
        (format!("Bearer {}", issuer.good("admin").replace('.', " ")), "malformed"),
        (format!("Bearer {}", with(&|claims| claims["aud"] = json!("https://other.example/mcp"))), "audience"),
        (format!("Bearer {}", with(&|claims| claims["iss"] = json!("https://evil.example"))), "issuer"),
        (format!("Bearer {}", with(&|claims| claims["exp"] = json!(1_800_000))), "expired"),
    ];
    assert_eq!(refused(call(&secure).send().await.unwrap()).await, "missing");
    for (header, reason) in cases {
        let response = call(&secure).header("authorization", &header).send().await.unwrap();
        assert_eq!(refused(response).await, reason, "{header}");
    }
    assert_eq!(secure.pi.bench.ran(), 0, "nothing ran");
    // None of which keeps a right one out.
    for right in [good, issuer.good("admin")] {
        let response = call(&secure).bearer_auth(right).send().await.unwrap();
        assert_eq!(response.status(), 200);
    }
    assert_eq!(secure.pi.bench.ran(), 2);
}

#[tokio::test]
async fn a_token_chooses_nothing_about_how_it_is_checked() {
    let (secure, issuer, _) = server().await;
    for forged in [Issuer::unsigned(&Issuer::claims("admin")), issuer.confused(&Issuer::claims("admin"))] {
        let response = call(&secure).bearer_auth(forged).send().await.unwrap();
        assert_eq!(refused(response).await, "algorithm");
    }
    let response = call(&secure).bearer_auth(Issuer::new().good("admin")).send().await.unwrap();
    assert_eq!(refused(response).await, "signature");
}

#[tokio::test]
async fn two_headers_or_a_token_elsewhere_do_not_count() {
    let (secure, ..) = server().await;
    let good = format!("Bearer {}", secure.token);
    let twice = call(&secure).header("authorization", &good).header("authorization", "Bearer x");
    assert_eq!(refused(twice.send().await.unwrap()).await, "scheme");
    let body = request(&json!(1), "test.admin", &json!({}));
    let url = secure.url(&format!("/api/mcp?access_token={}", secure.token));
    let in_the_address = secure.client().post(url).header("content-type", "application/json").body(body);
    assert_eq!(refused(in_the_address.send().await.unwrap()).await, "missing");
}

#[tokio::test]
async fn no_path_but_health_and_the_metadata_is_open() {
    let (secure, ..) = server().await;
    for path in ["/mcp", "/api/mcp", "/ws", "/metrics", "/", "/.well-known/other", "/healthz/../mcp"] {
        let response = secure.client().get(secure.url(path)).send().await.unwrap();
        assert_eq!(response.status(), 401, "{path}");
    }
    let health = secure.client().get(secure.url("/healthz")).send().await.unwrap();
    assert_eq!(health.text().await.unwrap(), "ok\n");
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let metadata: Value = secure.client().get(secure.url(path)).send().await.unwrap().json().await.unwrap();
        assert_eq!((&metadata["resource"], &metadata["authorization_servers"]), (&json!(AUDIENCE), &json!([NAME])));
    }
}

#[tokio::test]
async fn a_jwt_has_the_role_it_was_given_and_no_more() {
    let (secure, issuer, _) = server().await;
    let mut wire = secure.on(Door::Http);
    wire.post().headers[0].1 = format!("Bearer {}", issuer.good("ops_rw"));
    wire.call("test.echo", json!({"text": "hello"})).await.ok();
    wire.call("test.admin", json!({})).await.failed("permission_denied");
    assert_eq!(secure.pi.audit().await[0]["principal"], "jwt:alice");
    let response = call(&secure).bearer_auth(issuer.good("nothing")).send().await.unwrap();
    assert_eq!(response.status(), 403);
    assert!(response.headers()["www-authenticate"].to_str().unwrap().contains("error=\"insufficient_scope\""));
}

#[tokio::test]
async fn a_session_is_of_no_use_to_another_principal() {
    let (secure, issuer, _) = server().await;
    let mut owner = secure.on(Door::Http);
    owner.initialize("2025-11-25", "a client").await.result();
    let mut thief = secure.on(Door::Http);
    thief.post().headers[0].1 = format!("Bearer {}", issuer.good("admin"));
    let session = owner.post().session();
    thief.post().join_session(session);
    thief.request_unread("ping", json!({})).await.under(404).fault(-32003);
    owner.request("ping", json!({})).await.result();
}

#[tokio::test]
async fn on_loopback_too_when_the_owner_says_so() {
    let (good, setting) = token("laptop", Role::Admin);
    let pi = Pi::with(|settings| {
        settings.access.tokens = vec![setting];
        settings.access.require_token = true;
    })
    .await;
    let mut wire = pi.on(Door::Http).await;
    let refusal = wire.request_unread("test.echo", json!({})).await;
    assert_eq!(refusal.under(401).fault(-32002)["data"]["details"]["reason"], "missing");
    wire.post().headers = vec![("authorization".into(), format!("Bearer {good}"))];
    wire.call("test.admin", json!({})).await.ok();
}

#[tokio::test]
async fn a_connection_does_not_outlive_its_token() {
    let (good, mut setting) = token("visitor", Role::Admin);
    setting.expires = Some(OffsetDateTime::now_utc() + Duration::from_millis(1500));
    let pi = Pi::with(|settings| settings.access.tokens = vec![setting]).await;
    let mut upgrade = format!("ws://{}/ws", pi.address()).into_client_request().unwrap();
    upgrade.headers_mut().insert("authorization", format!("Bearer {good}").parse().unwrap());
    let (mut socket, _) = tokio_tungstenite::connect_async(upgrade).await.unwrap();
    let mut wire: Wire = pi.on(Door::Http).await;
    wire.post().headers = vec![("authorization".into(), format!("Bearer {good}"))];
    wire.initialize("2025-11-25", "a listener").await.result();
    let session = wire.post().session().unwrap();
    let get = reqwest::Client::new().get(format!("http://{}/mcp", pi.address()));
    let get = get.header("accept", "text/event-stream").header("mcp-session-id", session).bearer_auth(&good);
    let mut stream = get.send().await.unwrap();
    assert_eq!(stream.status(), 200);
    assert_eq!(goodbye(&mut socket).await, "the token has expired");
    soon(async { while let Ok(Some(_)) = stream.chunk().await {} }).await;
    wire.request_unread("ping", json!({})).await.under(401).fault(-32002);
}
