//! `files.read`: content, tags, parts, and what it does not open.

use super::{Files, sha256};
use crate::support::served::{Door, soon};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink};

#[tokio::test]
async fn a_file_is_read_by_a_relative_and_by_a_full_path() {
    let files = Files::new().await;
    let path = files.has("notes/today.txt", "größer\n");
    for asked in ["notes/today.txt", "./notes//today.txt", path.to_str().unwrap()] {
        let answer = files.call("files.read", json!({ "path": asked })).await;
        let read = answer.ok();
        assert_eq!(read["content"], "größer\n");
        assert_eq!(read["path"], path.to_str().unwrap());
        assert_eq!((&read["root"], &read["encoding"]), (&json!("data"), &json!("utf-8")));
        assert_eq!((&read["size"], &read["length"]), (&json!(9), &json!(9)));
        assert_eq!(read["etag"], sha256("größer\n"));
        assert_eq!((&read["truncated"], &read["not_modified"]), (&json!(false), &json!(false)));
        assert!(read["mtime"].as_str().unwrap().ends_with('Z') && read.get("content_base64").is_none());
    }
    fs::write(files.docs("manual.md"), "# Manual").unwrap();
    let answer = files.call("files.read", json!({ "path": "manual.md", "root": "docs" })).await;
    assert_eq!((&answer.ok()["content"], &answer.ok()["root"]), (&json!("# Manual"), &json!("docs")));
    // The slash form has error numbers of its own (docs/contract/errors.md).
    let mut wire = files.pi.on(Door::Stdio).await;
    assert_eq!(wire.request("files/read", json!({ "path": "notes/today.txt" })).await.result()["content"], "größer\n");
    wire.request("files/read", json!({ "path": "notes/none.txt" })).await.fault(1001);
    wire.request("files/read", json!({ "path": "/etc/passwd" })).await.fault(1002);
}

#[tokio::test]
async fn bytes_come_in_base64_and_ascii_is_ascii() {
    let files = Files::new().await;
    files.has("image", [0xff, 0xd8, 0x00, 0xfe]);
    let answer = files.call("files.read", json!({ "path": "image", "encoding": "base64" })).await;
    assert_eq!(answer.ok()["content_base64"], "/9gA/g==");
    assert!(answer.ok().get("content").is_none());
    let answer = files.call("files.read", json!({ "path": "image" })).await;
    let refused = answer.failed("failed_precondition");
    assert_eq!(
        (&refused["details"]["byte"], &refused["hint"]),
        (&json!(0), &json!("read it with encoding \"base64\""))
    );
    files.has("umlaut", "abü");
    let answer = files.call("files.read", json!({ "path": "umlaut", "encoding": "ascii" })).await;
    assert_eq!(answer.failed("failed_precondition")["details"]["byte"], 2);
}

#[tokio::test]
async fn an_unchanged_file_is_not_sent_again() {
    let files = Files::new().await;
    files.has("a", "one");
    let tag = sha256("one");
    let same = files.call("files.read", json!({ "path": "a", "etag": tag })).await;
    assert_eq!((&same.ok()["not_modified"], same.ok().get("content")), (&json!(true), None));
    files.has("a", "two");
    let other = files.call("files.read", json!({ "path": "a", "etag": tag })).await;
    assert_eq!((&other.ok()["not_modified"], &other.ok()["content"]), (&json!(false), &json!("two")));
    files.call("files.read", json!({ "path": "a", "etag": null })).await.ok();
}

#[tokio::test]
async fn parts_join_to_the_whole_and_cut_no_character() {
    let files = Files::new().await;
    let text = "aü€😀".repeat(40_000);
    files.has("large", &text);
    for (encoding, length) in [("utf-8", 99_999), ("base64", 65_537)] {
        let (mut joined, mut offset) = (Vec::new(), json!(0));
        loop {
            let args = json!({ "path": "large", "offset": offset, "length": length, "encoding": encoding });
            let answer = files.call("files.read", args).await;
            let part = answer.ok();
            assert_eq!((&part["size"], &part["etag"]), (&json!(text.len()), &json!(sha256(&text))));
            let bytes = match part.get("content") {
                Some(text) => text.as_str().unwrap().as_bytes().to_vec(),
                None => unbase64(part["content_base64"].as_str().unwrap()),
            };
            assert_eq!(part["length"], bytes.len());
            joined.extend(bytes);
            assert_eq!(part["truncated"], part.get("next_offset").is_some());
            match part.get("next_offset") {
                Some(next) => offset = next.clone(),
                None => break,
            }
        }
        assert!(joined == text.as_bytes(), "{encoding}");
    }
    let inside = files.call("files.read", json!({ "path": "large", "offset": 2, "length": 5 })).await;
    assert_eq!(inside.failed("invalid_argument")["details"]["parameter"], "offset");
    let short = files.call("files.read", json!({ "path": "large", "offset": 1, "length": 1 })).await;
    assert_eq!(short.failed("invalid_argument")["details"]["parameter"], "length");
    let beyond = files.call("files.read", json!({ "path": "large", "offset": text.len() + 1 })).await;
    assert_eq!(beyond.failed("invalid_argument")["details"]["size"], text.len());
    let end = files.call("files.read", json!({ "path": "large", "offset": text.len() })).await;
    assert_eq!((&end.ok()["content"], &end.ok()["truncated"]), (&json!(""), &json!(false)));
}

fn unbase64(text: &str) -> Vec<u8> {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    for group in text.as_bytes().chunks(4) {
        let bits = group.iter().fold(0u32, |bits, letter| {
            bits << 6 | letters.iter().position(|known| known == letter).unwrap_or_default() as u32
        });
        let padding = group.iter().filter(|letter| **letter == b'=').count();
        bytes.extend(&bits.to_be_bytes()[1..4 - padding]);
    }
    bytes
}

#[tokio::test]
async fn more_than_was_asked_for_is_refused_not_cut() {
    let files = Files::new().await;
    files.has("kilo", "x".repeat(1024));
    files.call("files.read", json!({ "path": "kilo", "max_bytes": 1024 })).await.ok();
    let answer = files.call("files.read", json!({ "path": "kilo", "max_bytes": 1023 })).await;
    let refused = answer.failed("content_too_large");
    assert_eq!((&refused["details"]["size"], &refused["details"]["limit_bytes"]), (&json!(1024), &json!(1023)));
    // More than the root allows is not even read.
    files.has("huge", vec![0; (1 << 20) + 1]);
    let answer = files.call("files.read", json!({ "path": "huge", "length": 1 })).await;
    assert_eq!(answer.failed("content_too_large")["details"]["limit_bytes"], 1 << 20);
}

#[tokio::test]
async fn only_files_are_opened_and_nothing_waits() {
    let files = Files::new().await;
    fs::create_dir(files.data("folder")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, files.data("fifo"), 0o644.into()).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(files.data("socket")).unwrap();
    symlink("fifo", files.data("to-fifo")).unwrap();
    for (name, word) in [
        ("folder", "a directory"),
        ("fifo", "a fifo"),
        ("to-fifo", "a fifo"),
        ("socket", "a socket"),
        (".", "a directory"),
    ] {
        let answer = soon(files.call("files.read", json!({ "path": name }))).await;
        let message = answer.failed("failed_precondition")["message"].as_str().unwrap().to_owned();
        assert!(message.contains(word), "{name}: {message}");
    }
    let answer = files.call("files.read", json!({ "path": "folder/none" })).await;
    answer.failed("not_found");
    files.has("plain", "");
    files.call("files.read", json!({ "path": "plain/none" })).await.failed("failed_precondition");
    assert_eq!(files.call("files.read", json!({ "path": "plain" })).await.ok()["content"], Value::from(""));
}

#[tokio::test]
async fn a_link_that_stays_inside_is_followed() {
    let files = Files::new().await;
    files.has("v1/config", "one");
    symlink("v1", files.data("current")).unwrap();
    symlink("current/config", files.data("config")).unwrap();
    for path in ["current/config", "config"] {
        assert_eq!(files.call("files.read", json!({ "path": path })).await.ok()["content"], "one");
    }
}

#[tokio::test]
async fn what_the_user_may_not_read_is_denied_and_says_so() {
    if rustix::process::geteuid().is_root() {
        return;
    }
    let files = Files::new().await;
    let path = files.has("secret", "x");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let answer = files.call("files.read", json!({ "path": "secret" })).await;
    let refused = answer.failed("permission_denied");
    assert_eq!(refused["details"]["required_permission"], format!("files:read:{}", path.display()));
}
