//! `files.delete`: what goes, what stays, and what is said before.

use super::{Files, sha256};
use serde_json::json;
use std::{fs, os::unix::fs::symlink};

#[tokio::test]
async fn a_file_goes_and_a_link_goes_alone() {
    let files = Files::new().await;
    files.has("a", "12345");
    symlink("a", files.data("link")).unwrap();
    let answer = files.call("files.delete", json!({ "path": "link" })).await;
    assert_eq!((&answer.ok()["type"], &answer.ok()["deleted"]), (&json!("symlink"), &json!(true)));
    assert_eq!(files.everything(), ["a"]);
    let answer = files.call("files.delete", json!({ "path": "a" })).await;
    let gone = answer.ok();
    assert_eq!((&gone["files"], &gone["directories"], &gone["bytes"]), (&json!(1), &json!(0), &json!(5)));
    assert_eq!(answer.meta()["changed"], true);
    files.call("files.delete", json!({ "path": "a" })).await.failed("not_found");
    rustix::fs::mkfifoat(rustix::fs::CWD, files.data("fifo"), 0o600.into()).unwrap();
    assert_eq!(files.call("files.delete", json!({ "path": "fifo" })).await.ok()["type"], "other");
}

#[tokio::test]
async fn a_folder_goes_only_when_that_is_meant() {
    let files = Files::new().await;
    for name in ["f/a", "f/g/b", "f/.hidden", "stays"] {
        files.has(name, "123");
    }
    symlink("../stays", files.data("f/link")).unwrap();
    let answer = files.call("files.delete", json!({ "path": "f" })).await;
    assert_eq!(answer.failed("failed_precondition")["details"]["parameter"], "recursive");
    let before = files.everything();
    let answer = files.call("files.delete", json!({ "path": "f", "recursive": true, "dry_run": true })).await;
    let would = answer.ok().clone();
    assert_eq!((&would["files"], &would["directories"], &would["bytes"]), (&json!(4), &json!(2), &json!(9)));
    assert_eq!((&would["deleted"], &answer.meta()["changed"]), (&json!(false), &json!(false)));
    assert_eq!(files.everything(), before);
    let answer = files.call("files.delete", json!({ "path": "f", "recursive": true })).await;
    for field in ["files", "directories", "bytes", "type"] {
        assert_eq!(answer.ok()[field], would[field], "{field}");
    }
    assert_eq!(files.everything(), ["stays"]);
    assert_eq!(fs::read_to_string(files.data("stays")).unwrap(), "123");
}

#[tokio::test]
async fn a_tag_guards_what_others_have_changed() {
    let files = Files::new().await;
    files.has("a", "changed");
    let answer = files.call("files.delete", json!({ "path": "a", "etag": sha256("read") })).await;
    assert_eq!(answer.failed("conflict")["details"]["etag"], sha256("changed"));
    let answer = files.call("files.delete", json!({ "path": "a", "etag": sha256("changed"), "dry_run": true })).await;
    assert_eq!(answer.ok()["previous_etag"], sha256("changed"));
    assert_eq!(files.everything(), ["a"]);
    files.call("files.delete", json!({ "path": "a", "etag": sha256("changed") })).await.ok();
    assert_eq!(files.everything(), [] as [&str; 0]);
    fs::create_dir(files.data("f")).unwrap();
    let answer = files.call("files.delete", json!({ "path": "f", "recursive": true, "etag": "x" })).await;
    assert_eq!(answer.failed("failed_precondition")["details"]["parameter"], "etag");
}

#[tokio::test]
async fn a_root_itself_stays_whatever_it_is_called() {
    let files = Files::new().await;
    files.has("a", "");
    let root = files.data("").to_str().unwrap().to_owned();
    for path in [".", "./", "/.", "//", &root, root.trim_end_matches('/')] {
        let answer = files.call("files.delete", json!({ "path": path, "recursive": true })).await;
        answer.failed("permission_denied");
    }
    assert_eq!(files.everything(), ["a"]);
    let answer = files.call("files.delete", json!({ "path": "x", "root": "docs" })).await;
    answer.failed("permission_denied");
}
