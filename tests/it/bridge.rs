//! `raspi-mcp bridge`: a client on stdio, a server in the network, and what may go wrong between them.

use crate::support::served::{
    Door, Wire, modern_meta,
    secure::{Owner, Secure},
    soon,
};
use appliance::certificate::Fingerprint;
use serde_json::{Value, json};
use std::{
    fs,
    process::{Output, Stdio},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    process::{Child, Command},
};

/// The bridge, and the client's end of it.
struct Bridge {
    child: Child,
    wire: Wire,
    _folder: TempDir,
}

fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raspi-mcp"));
    command.env_clear().kill_on_drop(true).args(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Bridge {
    fn to(url: &str, pin: Fingerprint, token: &str) -> Self {
        Self::behind(url, pin, token, &[])
    }

    /// With these variables in its environment.
    fn behind(url: &str, pin: Fingerprint, token: &str, env: &[(&str, &str)]) -> Self {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("token");
        fs::write(&file, format!("{token}\n")).unwrap();
        let args = ["bridge", "--url", url, "--pin", &pin.to_string(), "--token-file", file.to_str().unwrap()];
        let mut child = program(&args).envs(env.iter().copied()).spawn().unwrap();
        let wire = Wire::lines(Door::Stdio, child.stdout.take().unwrap(), child.stdin.take().unwrap());
        Self { child, wire, _folder: folder }
    }

    fn of(secure: &Secure) -> Self {
        Self::to(&secure.url("/mcp"), secure.pin, &secure.token)
    }
}

#[tokio::test]
async fn a_conversation_of_each_era_passes() {
    let secure = Secure::start().await;
    let mut bridge = Bridge::of(&secure);
    let wire = &mut bridge.wire;
    let hello = wire.initialize("2025-11-25", "a desktop").await;
    assert_eq!(hello.result()["protocolVersion"], "2025-11-25");
    assert!(wire.request("tools/list", json!({})).await.result()["tools"].as_array().unwrap().len() > 5);
    assert_eq!(wire.call("test.echo", json!({"text": "hällo\n"})).await.ok()["text"], "hällo\n");
    wire.call("test.admin", json!({})).await.ok();
    wire.request("tools/call", json!({"name": "test.echo", "arguments": {"text": 1}})).await.refused("/text");
    wire.request("no/such", json!({})).await.fault(-32601);
    assert_eq!(secure.pi.audit().await[0]["principal"], "token:laptop");

    let mut params = json!({"name": "test.steps", "arguments": {"steps": 3, "every_ms": 60}});
    params["_meta"] = json!({"progressToken": "p"});
    wire.request("tools/call", params.clone()).await.ok();
    assert!(wire.seen.iter().any(|seen| seen.message["method"] == "notifications/progress"), "{:?}", wire.seen);

    wire.seen.clear();
    let mut modern = modern_meta(params);
    modern["_meta"]["progressToken"] = json!("q");
    assert_eq!(wire.request("tools/call", modern).await.result()["resultType"], "complete");
    assert!(wire.seen.iter().any(|seen| seen.message["params"]["progressToken"] == "q"), "{:?}", wire.seen);
}

#[tokio::test]
async fn requests_run_beside_each_other_and_can_be_withdrawn() {
    let secure = Secure::start().await;
    let mut bridge = Bridge::of(&secure);
    let wire = &mut bridge.wire;
    wire.initialize("2025-11-25", "a desktop").await.result();
    let slow = wire.ask("tools/call", json!({"name": "test.hold", "arguments": {}}));
    secure.pi.bench.until_inside(1).await;
    wire.call("test.echo", json!({"text": "meanwhile"})).await.ok();
    wire.notify("notifications/cancelled", json!({"requestId": slow}));
    wire.answer_to(slow).await.failed("cancelled");
}

#[tokio::test]
async fn a_pipe_that_ends_gets_its_answers() {
    let secure = Secure::start().await;
    let mut bridge = Bridge::of(&secure);
    for text in ["one", "two", "three"] {
        let params = modern_meta(json!({"name": "test.echo", "arguments": {"text": text}}));
        bridge.wire.ask("tools/call", params);
    }
    bridge.wire.finish();
    assert_eq!(bridge.wire.rest().await.iter().filter(|answer| answer.message.get("result").is_some()).count(), 3);
    assert_eq!(soon(bridge.child.wait()).await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn a_server_that_was_restarted_is_found_again() {
    let owner = Owner::new();
    let secure = owner.starts(|_| {}).await;
    let port = secure.address().port();
    let mut bridge = Bridge::of(&secure);
    bridge.wire.initialize("2025-11-25", "a desktop").await.result();
    bridge.wire.call("test.echo", json!({"text": "before"})).await.ok();
    secure.pi.stop().await.unwrap();

    let fault = bridge.wire.call("test.echo", json!({"text": "nobody"})).await;
    assert!(fault.fault(-32006)["message"].as_str().unwrap().contains("no server answers"), "{fault:?}");

    let again = owner.starts(|settings| settings.http.listen.set_port(port)).await;
    bridge.wire.call("test.echo", json!({"text": "after"})).await.ok();
    bridge.wire.request("ping", json!({})).await.result();
    drop(again);
}

/// The next message that is news of a resource.
async fn news(wire: &mut Wire) -> String {
    loop {
        let message = wire.next().await.expect("the bridge goes on").message;
        if message["method"] == "notifications/resources/updated" {
            return message["params"]["uri"].as_str().unwrap().to_owned();
        }
    }
}

#[tokio::test]
async fn what_was_subscribed_to_is_still_told_after_a_restart() {
    let owner = Owner::new();
    let secure = owner.starts(|_| {}).await;
    let port = secure.address().port();
    let mut bridge = Bridge::of(&secure);
    bridge.wire.initialize("2025-11-25", "a desktop").await.result();
    bridge.wire.request("resources/subscribe", json!({"uri": "raspi://audit"})).await.result();
    secure.on(Door::Api).call("test.write", json!({})).await;
    assert_eq!(news(&mut bridge.wire).await, "raspi://audit");
    secure.pi.stop().await.unwrap();

    // Nobody asks the bridge for anything: it finds the server by itself.
    let again = owner.starts(|settings| settings.http.listen.set_port(port)).await;
    let server = again.pi.server();
    soon(async {
        while server.subscriptions.count() == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    again.on(Door::Api).call("test.write", json!({})).await;
    assert_eq!(news(&mut bridge.wire).await, "raspi://audit");
}

#[tokio::test]
async fn somebody_in_between_gets_nothing() {
    let secure = Secure::start().await;
    let mut bridge = Bridge::to(&secure.url("/mcp"), Fingerprint::of(b"the right one"), &secure.token);
    let fault = bridge.wire.initialize("2025-11-25", "a desktop").await;
    let message = fault.fault(-32006)["message"].as_str().unwrap().to_owned();
    assert!(message.contains("somebody is in between") && message.contains(&secure.pin.to_string()), "{message}");
    assert!(secure.pi.audit().await.is_empty(), "no token was sent");
}

#[tokio::test]
async fn a_wrong_token_is_an_answer_with_the_reason() {
    let secure = Secure::start().await;
    let mut bridge = Bridge::to(&secure.url("/mcp"), secure.pin, "rmcp_wrong");
    let fault = bridge.wire.initialize("2025-11-25", "a desktop").await;
    assert_eq!(fault.fault(-32002)["data"]["details"]["reason"], "unknown");
}

/// What this machine offers is asked directly, whatever proxy its user has for the rest of the world.
#[tokio::test]
async fn loopback_is_never_asked_for_through_a_proxy() {
    let secure = Secure::start().await;
    let proxy = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"];
    let env = proxy.map(|name| (name, "http://127.0.0.1:9"));
    let mut bridge = Bridge::behind(&secure.url("/mcp"), secure.pin, &secure.token, &env);
    bridge.wire.initialize("2025-11-25", "a desktop").await.result();
}

/// A server that answers each request with what `does` makes of it; `None`: never, while `false` closes the connection.
async fn odd_server(does: fn(&Value) -> Result<Option<Value>, ()>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = Vec::new();
                loop {
                    let text = String::from_utf8_lossy(&request).into_owned();
                    if let Some((head, body)) = text.split_once("\r\n\r\n") {
                        let length = head.lines().find_map(|line| {
                            line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok()
                        });
                        if body.len() >= length.unwrap_or(0) {
                            let message = serde_json::from_str(body).unwrap_or_default();
                            let Ok(answer) = does(&message) else { return };
                            let Some(answer) = answer else { return std::future::pending().await };
                            let answer = answer.to_string();
                            let head = format!(
                                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                                answer.len()
                            );
                            stream.write_all(format!("{head}{answer}").as_bytes()).await.unwrap();
                            request.clear();
                            continue;
                        }
                    }
                    if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
                        return;
                    }
                }
            });
        }
    });
    format!("http://{address}/mcp")
}

fn without_a_pin(url: &str) -> Bridge {
    let mut child = program(&["bridge", "--url", url]).spawn().unwrap();
    let wire = Wire::lines(Door::Stdio, child.stdout.take().unwrap(), child.stdin.take().unwrap());
    Bridge { child, wire, _folder: TempDir::new().unwrap() }
}

#[tokio::test]
async fn a_notification_that_is_not_answered_keeps_no_request_waiting() {
    let url =
        odd_server(|message| Ok(message.get("id").map(|id| json!({"jsonrpc": "2.0", "id": id, "result": {}})))).await;
    let mut bridge = without_a_pin(&url);
    bridge.wire.notify("notifications/cancelled", json!({"requestId": 7}));
    bridge.wire.request("ping", json!({})).await.result();
}

#[tokio::test]
async fn a_server_that_dies_before_its_headers_may_have_done_it() {
    let url = odd_server(|message| match message["method"].as_str() {
        Some("tools/call") => Err(()),
        _ => Ok(Some(json!({"jsonrpc": "2.0", "id": message["id"], "result": {}}))),
    })
    .await;
    let mut bridge = without_a_pin(&url);
    let fault = bridge.wire.request("tools/call", json!({"name": "x", "arguments": {}})).await;
    let text = fault.fault(-32006)["message"].as_str().unwrap().to_owned();
    assert!(text.contains("broke before the answer came") && text.contains("may have been done"), "{text}");
}

#[tokio::test]
async fn what_cannot_work_is_said_at_once() {
    let pin = Fingerprint::of(b"any").to_string();
    let run = async |args: &[&str], token: Option<&str>| -> (Option<i32>, String) {
        let mut command = program(args);
        if let Some(token) = token {
            command.env("RASPI_MCP_TOKEN", token);
        }
        let Output { status, stderr, .. } = soon(command.output()).await.unwrap();
        (status.code(), String::from_utf8(stderr).unwrap())
    };
    for (args, token, why) in [
        (&["bridge", "--url", "http://pi.example:8765"][..], Some("rmcp_x"), "unencrypted"),
        (&["bridge", "--url", "http://127.0.0.1:1", "--pin", &pin], None, "http:// has none"),
        (&["bridge", "--url", "ftp://pi.example"], None, "https://"),
        (&["bridge", "--url", "nonsense"], None, "https://pi.local:8765"),
        (&["bridge", "--url", "https://127.0.0.1:1", "--pin", "sha256:12"], None, "64 hexadecimal digits"),
        (&["bridge", "--url", "https://127.0.0.1:1"], Some("two words"), "RASPI_MCP_TOKEN"),
        (&["bridge", "--url", "https://127.0.0.1:1", "--token-file", "/nowhere/token"], None, "/nowhere/token"),
    ] {
        let (code, said) = run(args, token).await;
        assert!(code == Some(2) && said.contains(why), "{args:?}: {code:?} {said}");
    }
}
