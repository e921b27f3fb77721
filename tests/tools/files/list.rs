//! `files.list`: what is shown, in which order, page by page.

use super::Files;
use serde_json::{Value, json};
use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
};

fn names(listed: &Value) -> Vec<&str> {
    listed["entries"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect()
}

/// Paths below the root `data`.
fn paths(files: &Files, listed: &Value) -> Vec<String> {
    let root = format!("{}/", files.data("").to_str().unwrap().trim_end_matches('/'));
    let entries = listed["entries"].as_array().unwrap().iter();
    entries.map(|entry| entry["path"].as_str().unwrap().strip_prefix(&root).unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_folder_is_listed_with_what_each_entry_is() {
    let files = Files::new().await;
    files.has("b.txt", "12345");
    files.has("a/inner", "");
    files.has(".hidden", "");
    symlink("b.txt", files.data("link")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, files.data("pipe"), 0o600.into()).unwrap();
    let answer = files.call("files.list", json!({})).await;
    let listed = answer.ok();
    assert_eq!(names(listed), ["a", "b.txt", "link", "pipe"]);
    let [folder, file, link, pipe] = &listed["entries"].as_array().unwrap()[..] else { panic!("{listed}") };
    assert_eq!((&folder["type"], &file["type"]), (&json!("directory"), &json!("file")));
    assert_eq!((&link["type"], &link["target"]), (&json!("symlink"), &json!("b.txt")));
    assert_eq!((&pipe["type"], &pipe["mode"]), (&json!("other"), &json!(0o600)));
    assert_eq!((&file["size"], &file["mode"]), (&json!(5), &json!(0o644)));
    assert_eq!(file["path"], files.data("b.txt").to_str().unwrap());
    assert_eq!(listed["roots"][1]["name"], "docs");
    assert_eq!((&listed["roots"][0]["writable"], &listed["roots"][1]["writable"]), (&json!(true), &json!(false)));
    // Every path it gives can be given back.
    files.call("files.read", json!({ "path": file["path"] })).await.ok();
    files.call("files.list", json!({ "path": folder["path"] })).await.ok();
    let all = files.call("files.list", json!({ "include_hidden": true })).await;
    assert_eq!(names(all.ok())[0], ".hidden");
    files.call("files.list", json!({ "path": "b.txt" })).await.failed("failed_precondition");
    files.call("files.list", json!({ "path": "none" })).await.failed("not_found");
}

#[tokio::test]
async fn an_empty_list_says_why() {
    let files = Files::new().await;
    for name in ["dots/.a", "both/.a", "both/b", "full/a"] {
        files.has(name, "");
    }
    std::fs::create_dir(files.data("bare")).unwrap();
    for (args, note) in [
        (json!({"path": "bare"}), "the folder is empty"),
        (json!({"path": "dots"}), "only 1 hidden names are there: include_hidden shows them"),
        (json!({"path": "full", "pattern": "x*"}), "none of 1 names fits the pattern"),
        (
            json!({"path": "both", "pattern": "x*"}),
            "none of 1 names fits the pattern; 1 hidden ones were not looked at",
        ),
        (json!({"path": "full", "offset": 3}), "offset 3 is past the last of 1: begin at 0"),
    ] {
        assert_eq!(files.call("files.list", args.clone()).await.ok()["note"], note, "{args}");
    }
    assert!(files.call("files.list", json!({"path": "full"})).await.ok().get("note").is_none());
}

#[tokio::test]
async fn recursive_goes_down_in_order_and_follows_no_link() {
    let files = Files::new().await;
    for name in ["a/2", "a/1", "a-b", "b/c/d", ".git/config", "a.txt"] {
        files.has(name, "");
    }
    symlink("..", files.data("b/up")).unwrap();
    let answer = files.call("files.list", json!({ "recursive": true })).await;
    assert_eq!(paths(&files, answer.ok()), ["a", "a/1", "a/2", "a-b", "a.txt", "b", "b/c", "b/c/d", "b/up"]);
    assert_eq!(answer.ok()["closed_directories"], 0);
    let answer = files.call("files.list", json!({ "recursive": true, "include_hidden": true })).await;
    assert_eq!(answer.ok()["pagination"]["total_count"], 11);
    for (pattern, expected) in
        [("*.txt", vec!["a.txt"]), ("a/*", vec!["a/1", "a/2"]), ("**/d", vec!["b/c/d"]), ("none", vec![])]
    {
        let answer = files.call("files.list", json!({ "recursive": true, "pattern": pattern })).await;
        assert_eq!(paths(&files, answer.ok()), expected, "{pattern}");
        assert_eq!(answer.ok().get("note").is_some(), expected.is_empty(), "{pattern}");
    }
    let bad = files.call("files.list", json!({ "pattern": "[a" })).await;
    assert_eq!(bad.failed("invalid_argument")["details"]["parameter"], "pattern");
}

#[tokio::test]
async fn pages_join_to_the_whole() {
    let files = Files::new().await;
    for number in 0..25 {
        files.has(&format!("{number:03}"), "");
    }
    let (mut seen, mut offset) = (Vec::new(), 0);
    loop {
        let answer = files.call("files.list", json!({ "limit": 10, "offset": offset })).await;
        let listed = answer.ok();
        assert_eq!(listed["pagination"]["total_count"], 25);
        seen.extend(names(listed).iter().map(|name| (*name).to_owned()));
        match listed["pagination"]["next_offset"].as_u64() {
            Some(next) => offset = next,
            None => break,
        }
    }
    assert_eq!(seen, (0..25).map(|number| format!("{number:03}")).collect::<Vec<_>>());
    let beyond = files.call("files.list", json!({ "offset": 4_294_967_295u32 })).await;
    assert_eq!((names(beyond.ok()).len(), &beyond.ok()["pagination"]["has_more"]), (0, &json!(false)));
    for bad in [json!({ "limit": 0 }), json!({ "limit": 1001 }), json!({ "offset": -1 })] {
        files.call("files.list", bad).await.failed("invalid_argument");
    }
}

/// A camera card's names, in Latin-1: opened, changed and deleted by what files.list says, and by nothing near it.
#[tokio::test]
async fn a_name_that_is_not_utf8_is_opened_by_its_bytes() {
    let files = Files::new().await;
    let folder = files.data("").join(OsStr::from_bytes(b"M\xfcsik"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join(OsStr::from_bytes(b"caf\xe9.txt")), "x").unwrap();
    // Looks the same in an answer.
    fs::write(folder.join(OsStr::from_bytes(b"caf\xe8.txt")), "other").unwrap();
    fs::write(folder.join("plain.txt"), "y").unwrap();
    let answer = files.call("files.list", json!({})).await;
    let entry = answer.ok()["entries"][0].clone();
    assert_eq!((&entry["name"], &entry["name_base64"]), (&json!("M\u{fffd}sik"), &json!("TfxzaWs=")));
    let inner = json!({ "path": entry["path"], "path_base64": entry["path_base64"] });
    let answer = files.call("files.list", inner.clone()).await;
    let entries = answer.ok()["entries"].as_array().unwrap().clone();
    assert_eq!(entries.len(), 3);
    for (entry, content) in entries.iter().zip(["other", "x", "y"]) {
        let named = json!({ "path": entry["path"], "path_base64": entry["path_base64"] });
        assert_eq!(files.call("files.read", named).await.ok()["content"], content);
    }
    assert!(entries[2].get("name_base64").is_none(), "its own name is text");
    let named = |more: serde_json::Value| {
        let mut arguments = json!({ "path": entries[1]["path"], "path_base64": entries[1]["path_base64"] });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    files.call("files.write", named(json!({ "content": "new", "overwrite": true }))).await.ok();
    assert_eq!(fs::read(folder.join(OsStr::from_bytes(b"caf\xe9.txt"))).unwrap(), b"new");
    assert_eq!(fs::read(folder.join(OsStr::from_bytes(b"caf\xe8.txt"))).unwrap(), b"other");
    // What a person or the audit reads is the path: it must be that of the bytes.
    for other in [json!({ "path": "plain.txt" }), json!({ "path_base64": "cGxhaW4=" }), json!({ "path_base64": "!" })] {
        for tool in ["files.read", "files.delete", "files.list"] {
            let error = files.call(tool, named(other.clone())).await;
            assert_eq!(error.failed("invalid_argument")["details"]["parameter"], "path_base64", "{tool} {other}");
        }
    }
    let out = json!({ "path": "/etc/\u{fffd}", "path_base64": "L2V0Yy//" });
    files.call("files.read", out).await.failed("permission_denied");
    let up = json!({ "path": "../\u{fffd}", "path_base64": "Li4v/w==" });
    files.call("files.read", up).await.failed("invalid_argument");
    files.call("files.delete", named(json!({}))).await.ok();
    assert!(!folder.join(OsStr::from_bytes(b"caf\xe9.txt")).exists());
    assert!(folder.join(OsStr::from_bytes(b"caf\xe8.txt")).exists(), "only the named one went");
    let mut whole = inner;
    whole["recursive"] = json!(true);
    files.call("files.delete", whole).await.ok();
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_name_that_is_no_text_is_shown_and_does_no_harm() {
    let files = Files::new().await;
    fs::write(files.data("").join(OsStr::from_bytes(b"caf\xe9")), "x").unwrap();
    let answer = files.call("files.list", json!({})).await;
    let entry = &answer.ok()["entries"][0];
    assert_eq!((&entry["name"], &entry["name_base64"]), (&json!("caf\u{fffd}"), &json!("Y2Fm6Q==")));
    files.call("files.read", json!({ "path": "caf\u{fffd}" })).await.failed("not_found");
}

#[tokio::test]
async fn what_is_too_deep_is_counted_not_entered() {
    let files = Files::new().await;
    let deep = "d/".repeat(40);
    fs::create_dir_all(files.data(&deep)).unwrap();
    let answer = files.call("files.list", json!({ "recursive": true })).await;
    assert_eq!(answer.ok()["entries"].as_array().unwrap().len(), 32);
    assert_eq!(answer.ok()["closed_directories"], 1);
    let answer = files.call("files.delete", json!({ "path": "d", "recursive": true })).await;
    assert!(answer.failed("failed_precondition")["message"].as_str().unwrap().contains("32 levels"));
    assert!(files.data(&deep).exists(), "nothing of it was deleted");
}
