//! `raspi-mcp notifications test`: sends a test message and tells the answer.

use super::receiver::{Receiver, deserted};
use crate::support::served::{process::command, soon};
use serde_json::json;
use std::fs;
use tempfile::TempDir;

/// Exit code, output and errors of `raspi-mcp notifications test` with this configuration.
async fn test(configuration: &str, more: &[&str]) -> (Option<i32>, String, String) {
    let root = TempDir::new().unwrap();
    let file = root.path().join("site.toml");
    fs::write(&file, configuration).unwrap();
    let file = file.display().to_string();
    let args = [&["--config", file.as_str(), "notifications", "test"], more].concat();
    let output = soon(command(&root, &args).output()).await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn hook(name: &str, url: &str) -> String {
    format!("[[notifications.webhooks]]\nname = \"{name}\"\nurl = \"{url}\"\nplain_http = true\n")
}

#[tokio::test]
async fn each_answer_is_told_and_one_that_fails_fails_all() {
    let (good, bad) = (Receiver::new().await, Receiver::answering(|_| (503, String::new())).await);
    let both = hook("phone", &good.url("/secret-topic")) + &hook("log", &bad.url("/x"));
    let (code, out, _) = test(&both, &[]).await;
    assert_eq!(code, Some(1));
    let expected =
        format!("phone: {} took it (200)\nlog: {} did not take it: it answered 503\n", good.url(""), bad.url(""));
    assert_eq!(out, expected);
    assert_eq!((good.so_far()[0].json()["event"].clone(), bad.so_far().len()), (json!("test"), 1));
    let (code, out, _) = test(&both, &["--to", "phone"]).await;
    assert_eq!((code, out.lines().count(), bad.so_far().len()), (Some(0), 1, 1));
    let (code, out, _) = test(&hook("phone", &format!("http://{}/", deserted().await)), &[]).await;
    assert!(code == Some(1) && out.to_lowercase().contains("refused"), "{out}");
}

#[tokio::test]
async fn what_cannot_be_sent_says_why() {
    let (code, _, err) = test("", &[]).await;
    assert!(code == Some(3) && err.contains("[[notifications.webhooks]]"), "{err}");
    let (code, _, err) = test(&hook("phone", "http://127.0.0.1:1/"), &["--to", "phon"]).await;
    assert!(code == Some(2) && err.contains("did you mean phone?"), "{err}");
    let (code, _, err) = test(&hook("phone", "http://ntfy.sh/topic"), &[]).await;
    assert!(code == Some(3) && err.contains("site.toml:1:"), "{err}");
}
