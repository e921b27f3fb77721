//! `file_*`

use super::text;
use crate::support::files::Files;
use agent::{AgentLink, Client, operations as op};
use contract::meta::Mode;
use serde_json::json;

#[tokio::test]
async fn file_read_gives_the_content_as_text() {
    let files = Files::new().await;
    let path = files.has("a.txt", "grüß\n");
    let answer = files.call("file_read", json!({"path": path})).await;
    assert_eq!(text(&answer), "grüß\n");
    assert_eq!(answer.ok()["encoding"], "utf-8");
    let answer = files.call("file_read", json!({"path": path, "encoding": "base64"})).await;
    assert_eq!(text(&answer), "Z3LDvMOfCg==");
    files.call("file_read", json!({"path": path, "encoding": "ascii"})).await.failed("failed_precondition");
    files.call("file_read", json!({"path": path, "encoding": "latin-1"})).await.refused("/encoding");
    files.call("file_read", json!({})).await.refused("/path");
    files.call("file_read", json!({"path": path, "etag": "x"})).await.refused("/etag");
    files.call("file_read", json!({"path": files.data("b")})).await.failed("not_found");
}

#[tokio::test]
async fn a_path_outside_of_the_roots_is_refused_and_names_the_setting() {
    let files = Files::new().await;
    for (name, args) in [
        ("file_read", json!({"path": "/etc/hostname"})),
        ("file_list", json!({"path": "/etc"})),
        ("file_write", json!({"path": "/etc/hostname", "content": "x"})),
        ("file_delete", json!({"path": "/etc/hostname"})),
    ] {
        let answer = files.call(name, args).await;
        let refused = answer.failed("permission_denied");
        assert!(refused["message"].as_str().unwrap().contains("files.roots"), "{refused}");
        assert_eq!(refused["details"]["dbus_mcp_code"], -32203);
        assert!(text(&answer).contains("files.roots"), "clients print the text");
    }
}

#[tokio::test]
async fn file_write_overwrites_unless_it_is_told_otherwise() {
    let files = Files::new().await;
    let path = files.data("a");
    let content = || std::fs::read_to_string(&path).unwrap();
    let answer = files.call("file_write", json!({"path": path, "content": "one"})).await;
    assert_eq!((answer.ok()["created"].clone(), content()), (json!(true), "one".into()));
    assert!(text(&answer).starts_with("wrote ") && text(&answer).contains("3 bytes"), "{}", text(&answer));
    files.call("file_write", json!({"path": path, "content": "two"})).await.ok();
    files.call("file_write", json!({"path": path, "content": "three", "mode": "append"})).await.ok();
    assert_eq!(content(), "twothree");
    files.call("file_write", json!({"path": path, "content": "x", "mode": "create_new"})).await.failed("conflict");
    files.call("file_write", json!({"path": path, "content": "Zm91cg==", "encoding": "base64"})).await.ok();
    assert_eq!(content(), "four");
    files.call("file_write", json!({"path": path, "content": "x", "mode": "truncate"})).await.refused("/mode");
    files.call("file_write", json!({"path": path, "content": "x", "mode": 420})).await.refused("/mode");
    files.call("file_write", json!({"path": path})).await.refused("/content");
    files.call("file_write", json!({"path": files.docs("a"), "content": "x"})).await.failed("permission_denied");
}

#[tokio::test]
async fn file_list_lists_the_first_root_without_arguments() {
    let files = Files::new().await;
    for name in ["a.txt", "b.log", ".hidden", "sub/c.txt"] {
        files.has(name, "x");
    }
    let names = |answer: &crate::support::served::Answer| -> Vec<String> {
        let entries = answer.ok()["entries"].as_array().unwrap().clone();
        entries.iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
    };
    for (args, wanted) in [
        (json!({}), &["a.txt", "b.log", "sub"][..]),
        (json!({"path": files.data("sub")}), &["c.txt"]),
        (json!({"include_hidden": true}), &[".hidden", "a.txt", "b.log", "sub"]),
        (json!({"recursive": true}), &["a.txt", "b.log", "sub", "c.txt"]),
        (json!({"pattern": "*.txt"}), &["a.txt"]),
    ] {
        assert_eq!(names(&files.call("file_list", args.clone()).await), wanted, "{args}");
    }
    files.call("file_list", json!({"limit": 1})).await.refused("/limit");
}

#[tokio::test]
async fn file_delete_needs_recursive_for_a_folder() {
    let files = Files::new().await;
    let path = files.has("sub/a", "x");
    let folder = files.data("sub");
    files.call("file_delete", json!({"path": folder})).await.failed("failed_precondition");
    let answer = files.call("file_delete", json!({"path": path})).await;
    assert_eq!(text(&answer), format!("deleted {}", path.display()));
    files.call("file_delete", json!({"path": folder, "recursive": true})).await.ok();
    assert!(!folder.exists());
    files.call("file_delete", json!({"path": folder, "dry_run": true})).await.refused("/dry_run");
}

#[tokio::test]
async fn a_person_is_asked_about_the_call_of_our_tool_and_the_yes_is_for_either_name() {
    let files = Files::with(|settings| {
        settings.policy.insert("files.write".into(), Mode::Ask);
        settings.approval.wait_seconds = 0;
    })
    .await;
    let agent = AgentLink::Socket(Client::new(&files.pi.server().pipeline.services.settings.places.agent_socket));
    let theirs = json!({"path": files.data("a"), "content": "x"});
    let ours = json!({"path": files.data("a"), "content": "x", "mode": "overwrite"});
    let waits = files.call("file_write", theirs.clone()).await;
    assert_eq!(waits.failed("failed_precondition")["details"]["dbus_mcp_code"], -32005);
    let asks = agent.get::<op::asks::ListAsks>().await.unwrap();
    assert_eq!((asks.len(), asks[0].request.tool.as_str(), &asks[0].request.args), (1, "files.write", &ours));
    agent.call::<op::asks::AnswerAsk>(op::asks::AnswerRequest { id: asks[0].id.clone(), approve: true }).await.unwrap();
    files.call("files.write", ours).await.ok();
    assert!(files.data("a").exists());
    files.call("file_write", theirs).await.failed("failed_precondition");
}
