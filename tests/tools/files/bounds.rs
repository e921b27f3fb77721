//! Paths and roots that cannot be, in every tool; and a server without roots.

use super::Files;
use crate::support::served::Pi;
use serde_json::{Value, json};

const TOOLS: [&str; 4] = ["files.read", "files.list", "files.write", "files.delete"];

fn args(tool: &str, path: Value) -> Value {
    match tool {
        "files.write" => json!({ "path": path, "content": "x", "overwrite": true }),
        "files.delete" => json!({ "path": path, "recursive": true }),
        _ => json!({ "path": path }),
    }
}

#[tokio::test]
async fn paths_that_cannot_be_are_refused_and_nothing_changes() {
    let files = Files::new().await;
    files.has("a", "old");
    std::fs::write(files.outside("outside"), "secret").unwrap();
    for tool in TOOLS {
        for (path, error, parameter) in [
            (json!("../outside"), "invalid_argument", "path"),
            (json!("x/../../outside"), "invalid_argument", "path"),
            (json!(".."), "invalid_argument", "path"),
            (json!("a\u{0}b"), "invalid_argument", "path"),
            (json!(""), "invalid_argument", "path"),
            (json!("x".repeat(4096)), "invalid_argument", "path"),
            (json!(format!("{}/y", "x".repeat(256))), "invalid_argument", "path"),
            (json!(7), "invalid_argument", "path"),
            (json!([null]), "invalid_argument", "path"),
            (json!(["a"]), "invalid_argument", "path"),
            (json!("/etc/passwd"), "permission_denied", "path"),
            (json!(files.outside("outside")), "permission_denied", "path"),
            (
                json!(format!("{}-too/x", files.data("").display().to_string().trim_end_matches('/'))),
                "permission_denied",
                "path",
            ),
            (json!("/proc/self/root/etc/passwd"), "permission_denied", "path"),
        ] {
            let answer = files.call(tool, args(tool, path.clone())).await;
            let refused = answer.failed(error);
            assert_eq!(refused["details"]["parameter"], parameter, "{tool} {path}: {refused}");
        }
        // A full path must be in the root that is named beside it.
        let mut other = args(tool, json!(files.data("a")));
        other["root"] = json!("docs");
        files.call(tool, other).await.failed("permission_denied");
        let mut none = args(tool, json!("a"));
        none["root"] = json!("nosuch");
        assert_eq!(files.call(tool, none.clone()).await.failed("not_found")["details"]["parameter"], "root");
        none["root"] = json!("x".repeat(65));
        files.call(tool, none).await.refused("/root");
    }
    assert_eq!(files.everything(), ["a"]);
    assert_eq!(std::fs::read_to_string(files.data("a")).unwrap(), "old");
    assert_eq!(std::fs::read_to_string(files.outside("outside")).unwrap(), "secret");
    files.pi.audit_of(TOOLS.len() * 5, "permission_denied").await;
}

#[tokio::test]
async fn a_name_of_255_bytes_is_one_and_256_is_none() {
    let files = Files::new().await;
    for (name, fits) in [("x".repeat(255), true), ("x".repeat(256), false), ("ü".repeat(128), false)] {
        let answer = files.call("files.write", json!({ "path": name, "content": "" })).await;
        let _ = if fits { answer.ok() } else { answer.failed("invalid_argument") };
    }
    assert_eq!(files.everything().len(), 1);
}

#[tokio::test]
async fn without_roots_everything_is_refused_and_says_what_to_do() {
    let pi = Pi::standard(|settings| settings.tools.enable.extend(["files".to_owned()])).await;
    for tool in TOOLS {
        let answer = pi.call(tool, args(tool, json!("a"))).await;
        let refused = answer.failed("permission_denied");
        assert!(refused["hint"].as_str().unwrap().contains("[[files.roots]]"), "{refused}");
    }
}

#[tokio::test]
async fn a_root_that_is_not_there_is_named() {
    let files = Files::new().await;
    std::fs::remove_dir(files.docs("")).unwrap();
    let answer = files.call("files.list", json!({ "root": "docs" })).await;
    let refused = answer.failed("unavailable");
    assert!(refused["message"].as_str().unwrap().contains("docs"), "{refused}");
    files.call("files.list", json!({})).await.ok();
}
