//! On a machine that has no owner yet: guessed codes, many at once, late ones, replayed ones; other machines in its place; and
//! everything else that is asked of it before it is claimed.

use crate::{
    appliance::fresh::{Fresh, Up},
    support::served::{Door, Wire, request, secure::Owner, soon},
};
use appliance::{Code, certificate::Fingerprint};
use base::error::ErrorCode;
use raspi_mcp::{
    claim::{client, uri::ClaimUri},
    tls::pin,
};
use serde_json::{Value, json};
use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

fn code_of(refusal: &Value) -> &str {
    refusal["error"]["data"]["error_code"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn five_wrong_codes_and_the_right_one_is_not_looked_at() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    for left in (0..5).rev() {
        let (status, refusal) = up.brings(&Code::mint().unwrap()).await;
        assert_eq!((status, &refusal["error"]["data"]["details"]["tries_left"]), (403, &json!(left)), "{refusal}");
    }
    let (status, refusal) = up.brings(&fresh.code()).await;
    assert_eq!((status, code_of(&refusal)), (429, "resource_exhausted"), "{refusal}");
    // A server and an agent that start again grant no more.
    up.stops().await;
    let up = fresh.starts().await;
    assert_eq!(up.brings(&fresh.code()).await.0, 429);
    assert!(!fresh.folder().standing().unwrap().unwrap().claimed);
    // Each try is in the agent's log, where from, and no code.
    let log = fresh.log();
    assert_eq!(log.matches("\"what\":\"claim\"").count(), 5, "{log}");
    assert!(log.contains("127.0.0.1") && log.contains("\"tries_left\":0"), "{log}");
}

#[tokio::test]
async fn many_at_once_are_five_in_all() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let tries = (0..60).map(|_| async { up.brings(&Code::mint().unwrap()).await.0 });
    let answers = soon(futures::future::join_all(tries)).await;
    let count = |status| answers.iter().filter(|answer| **answer == status).count();
    assert_eq!((count(403), count(429)), (5, 55), "{answers:?}");
    assert_eq!(fresh.tries_left(), 0);
}

#[tokio::test]
async fn what_is_no_code_costs_no_try_and_tells_nothing() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let right = fresh.code().to_string();
    let typo = right.replacen(&right[..1], if right.starts_with('0') { "1" } else { "0" }, 1);
    let long = format!("{{\"code\":\"{}\"}}", "7".repeat(1 << 20));
    for (body, status) in [
        (json!({ "code": typo }).to_string(), 400),
        (json!({ "code": "" }).to_string(), 400),
        (json!({ "code": 7 }).to_string(), 400),
        (json!({ "code": null }).to_string(), 400),
        (json!({ "code": [right] }).to_string(), 400),
        (json!({ "code": right, "token": "rmcp_x" }).to_string(), 400),
        (json!({ "code": right, "role": "admin" }).to_string(), 400),
        (json!({ "token": "" }).to_string(), 403),
        (json!({ "token": "rmcp_x" }).to_string(), 403),
        (json!([{ "code": right }]).to_string(), 400),
        (String::new(), 400),
        ("{".into(), 400),
        ("\0".into(), 400),
        (long, 413),
    ] {
        let shown = body.chars().take(60).collect::<String>();
        let (got, refusal) = up.post(body).await;
        assert_eq!(got, status, "{shown}: {refusal}");
        assert!(!refusal.to_string().contains(&right) && !refusal.to_string().contains(&typo), "{refusal}");
    }
    assert_eq!(fresh.tries_left(), 5);
    // A web page cannot send it: neither from its own origin nor as a form.
    let post = up.client().post(up.url("/claim")).body(json!({ "code": right }).to_string());
    assert_eq!(post.send().await.unwrap().status(), 400);
    let post = up
        .client()
        .post(up.url("/claim"))
        .header("content-type", "application/json")
        .header("origin", "https://evil.example");
    assert_eq!(post.body(json!({ "code": right }).to_string()).send().await.unwrap().status(), 403);
    assert_eq!(up.client().get(up.url("/claim")).send().await.unwrap().status(), 405);
    assert!(fresh.folder().claim().unwrap().unwrap().offered.is_none());
}

#[tokio::test]
async fn after_the_window_the_right_code_is_late() {
    let fresh = Fresh::new();
    fresh.power_on(Duration::from_millis(1));
    let up = fresh.starts().await;
    let (status, refusal) = up.brings(&fresh.code()).await;
    assert_eq!((status, code_of(&refusal)), (409, "failed_precondition"), "{refusal}");
    assert!(refusal["error"]["message"].as_str().unwrap().contains("time for a claim is over"), "{refusal}");
    assert_eq!(fresh.tries_left(), 5);
}

#[tokio::test]
async fn two_at_once_and_one_wins() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let claim = || ClaimUri { url: up.url("").parse().unwrap(), pin: up.pin, code: fresh.code(), device: None };
    let tokens = std::sync::Mutex::new(Vec::new());
    let one = |claim: ClaimUri| {
        let tokens = &tokens;
        async move {
            let mut mine = String::new();
            let done = client::claim(&claim, None, |token| {
                mine = token.to_owned();
                Ok(())
            });
            let done = done.await;
            tokens.lock().unwrap().push((mine, done.is_ok()));
            done
        }
    };
    let claims = [claim(), claim(), claim()].map(one);
    let ended = soon(futures::future::join_all(claims)).await;
    assert_eq!(ended.iter().filter(|end| end.is_ok()).count(), 1, "{ended:?}");
    for (token, won) in tokens.into_inner().unwrap() {
        assert_eq!(up.calls(Some(&token)).await.0 == 200, won);
    }
    up.stops().await;
    assert_eq!(fresh.identity().tokens.len(), 1);
}

#[tokio::test]
async fn what_was_recorded_of_a_claim_opens_nothing_again() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let code = fresh.code();
    let token = up.offered(&code).await;
    let before = fs::read(fresh.folder().path().join("claim")).unwrap();
    assert_eq!(up.shows(&token).await.0, 200);
    for _ in 0..7 {
        assert_eq!(up.brings(&code).await.0, 409);
    }
    // Nor does the claim's file, or a state that says otherwise, if somebody could write them: the record counts.
    fs::write(fresh.folder().path().join("claim"), before).unwrap();
    fs::write(fresh.folder().path().join("state.json"), "{\"claimed\":false}").unwrap();
    assert_eq!(up.brings(&code).await.0, 409);
    assert_eq!(up.calls(None).await.0, 403);
}

#[tokio::test]
async fn another_machine_gets_no_code() {
    let fresh = Fresh::new();
    let owner = Owner::new();
    // It takes what comes, and counts bytes of what it understands.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let heard = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&heard);
    let config = {
        let folder = owner.folder().join("tls");
        let tls = contract::config::Tls {
            enabled: true,
            certificate: folder.join("certificate.pem"),
            key: folder.join("key.pem"),
        };
        raspi_mcp::tls::shown::ServedCertificate::load(&tls).unwrap().now().config.clone()
    };
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(mut stream) = tokio_rustls::TlsAcceptor::from(config.clone()).accept(stream).await {
                let mut bytes = [0; 1024];
                count.fetch_add(stream.read(&mut bytes).await.unwrap_or(0), Ordering::SeqCst);
            }
        }
    });
    let claim =
        |pin| ClaimUri { url: format!("https://{address}").parse().unwrap(), pin, code: fresh.code(), device: None };
    let error = soon(client::claim(&claim(Fingerprint::of(b"the machine")), None, |_| Ok(()))).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::VerificationFailed, "{error}");
    assert!(error.hint.as_ref().unwrap().contains("nothing was sent"));
    assert_eq!(heard.load(Ordering::SeqCst), 0);
    // The test can fail: with its own fingerprint it would have been told.
    let _ = tokio::time::timeout(Duration::from_secs(5), client::claim(&claim(owner.pin), None, |_| Ok(()))).await;
    assert_ne!(heard.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn without_tls_there_is_no_claim() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let body = json!({ "code": fresh.code().to_string() }).to_string();
    let head = format!(
        "POST /claim HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(up.address()).await.unwrap();
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    let mut answer = String::new();
    let _ = soon(stream.read_to_string(&mut answer)).await;
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("https://"), "{answer}");
    up.stops().await;
    // A listener that somebody configured without it, on this machine alone.
    let plain = fresh.starts_with(&[("tls.enabled", "false"), ("http.listen", "127.0.0.1:0")]).await;
    let address = plain.address();
    let post = reqwest::Client::builder().no_proxy().build().unwrap().post(format!("http://{address}/claim"));
    let refused = post.header("content-type", "application/json").body(body).send().await.unwrap();
    assert_eq!(refused.status(), 403);
    assert!(refused.text().await.unwrap().contains("through TLS only"));
    assert_eq!((fresh.tries_left(), fresh.folder().claim().unwrap().unwrap().offered), (5, None));
}

/// Everything a client may ask first.
fn questions() -> Vec<String> {
    let ask = |method: &str, params: Value| request(&json!(1), method, &params);
    vec![
        ask(
            "initialize",
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } }),
        ),
        ask("ping", json!({})),
        ask("tools/list", json!({})),
        ask("tools/call", json!({ "name": "system.get_basic_info", "arguments": {} })),
        ask("system.get_basic_info", json!({})),
        ask("system/get_basic_info", json!({})),
        ask("resources/list", json!({})),
        ask("server/discover", json!({})),
        ask("no.such_tool", json!({})),
    ]
}

#[tokio::test]
async fn before_the_claim_every_door_serves_nobody() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    for path in [
        "/mcp",
        "/api/mcp",
        "/ws",
        "/metrics",
        "/photos/1",
        "/",
        "/claim/",
        "/CLAIM",
        "/%63laim",
        "/.well-known/oauth-protected-resource",
    ] {
        for method in ["GET", "POST", "DELETE"] {
            let asked =
                up.client().request(method.parse().unwrap(), up.url(path)).bearer_auth("rmcp_guess").body("{}").send();
            let refused = soon(asked).await.unwrap();
            assert_eq!(refused.status(), 403, "{method} {path}");
            let refusal: Value = refused.json().await.unwrap();
            assert_eq!(refusal["error"]["data"]["details"]["unclaimed"], true, "{method} {path}: {refusal}");
        }
    }
    for question in questions() {
        for path in ["/mcp", "/api/mcp"] {
            let post = up.client().post(up.url(path)).header("content-type", "application/json").body(question.clone());
            assert_eq!(soon(post.send()).await.unwrap().status(), 403, "{question}");
        }
        // Root on this machine, too: the tests may well be root.
        let mut wire = up.unix().await;
        wire.raw(&question);
        refused(&mut wire, &question).await;
        let (ours, theirs) = tokio::io::duplex(4096);
        let (reader, writer) = tokio::io::split(theirs);
        let server = Arc::clone(&up.running.server);
        let caller = contract::access::caller::Caller::new(
            "stdio",
            contract::meta::Role::Admin,
            contract::access::caller::Transport::Stdio,
        );
        server.tasks.clone().spawn(raspi_mcp::transport::lines::serve(server, caller, reader, writer));
        let (reader, writer) = tokio::io::split(ours);
        let mut wire = Wire::lines(Door::Stdio, reader, writer);
        wire.raw(&question);
        refused(&mut wire, &question).await;
    }
    let audit = up.running.server.pipeline.services.audit.recent(Default::default(), 100, 0).await.unwrap().0;
    assert!(audit.is_empty(), "nothing was called: {audit:?}");
}

async fn refused(wire: &mut Wire, question: &str) {
    let answer = format!("{:?}", wire.answer().await);
    assert!(answer.contains("unclaimed") && answer.contains("-32001"), "{question}: {answer}");
}

#[tokio::test]
async fn a_state_that_is_not_understood_serves_nobody() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let token = up.offered(&fresh.code()).await;
    assert_eq!(up.shows(&token).await.0, 200);
    let state = fresh.folder().path().join("state.json");
    for bad in ["", "{", "{\"claimed\":\"yes\"}", "[]"] {
        fs::write(&state, bad).unwrap();
        assert_eq!(up.calls(Some(&token)).await.0, 403, "{bad}");
    }
    fs::remove_file(&state).unwrap();
    assert_eq!(up.calls(Some(&token)).await.0, 403);
}

#[tokio::test]
async fn a_pinned_client_is_the_only_one_that_gets_through() {
    // Real TLS: whoever is in between is seen, and the machine's certificate is nobody's that is known.
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let _ = pin::client_config(up.pin).unwrap();
    let stranger = reqwest::Client::builder().no_proxy().build().unwrap();
    assert!(stranger.get(up.url("/healthz")).send().await.is_err());
    assert_eq!(Up::client(&up).get(up.url("/healthz")).send().await.unwrap().status(), 200);
}
