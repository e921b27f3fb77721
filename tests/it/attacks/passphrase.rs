//! A passphrase of a Wi-Fi network must appear nowhere: in no answer, no question, no record, no log and no file of either half.

use crate::support::{
    served::{Door, Pi},
    settings::allow_everything,
};
use contract::meta::{Mode, Role};
use serde_json::json;
use std::{fs, path::Path};

const SECRET: &str = "hunter2-hunter2";

/// Files below `folder` that have the bytes of the secret, and how many were read.
fn holding(folder: &Path, found: &mut Vec<String>) -> usize {
    let mut read = 0;
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            read += holding(&entry.path(), found);
        } else if kind.is_file() {
            read += 1;
            let bytes = fs::read(entry.path()).unwrap();
            if bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()) {
                found.push(entry.path().display().to_string());
            }
        }
    }
    read
}

#[tokio::test]
async fn a_passphrase_appears_nowhere() {
    let pi = Pi::standard(|settings| {
        allow_everything(settings);
        settings.access.loopback_role = Role::Admin;
        settings.policy.insert("network.update_connection".into(), Mode::Ask);
        settings.approval.wait_seconds = 0;
    })
    .await;
    let mut said = Vec::new();
    for door in [Door::Stdio, Door::Http] {
        let mut wire = pi.on(door).await;
        for (tool, args) in [
            ("network.add_connection", json!({"connection": "attic", "ssid": "x", "passphrase": SECRET})),
            ("network.confirm_connection", json!({"keep": false})),
            (
                "network.add_connection",
                json!({"connection": "a", "ssid": "x", "passphrase": SECRET, "security": "open"}),
            ),
            ("network.add_connection", json!({"connection": "a", "ssid": "x", "passphrase": [SECRET]})),
            (
                "network.add_connection",
                json!({"connection": "a", "ssid": "x", "passphrase": format!("\u{e9}{SECRET}")}),
            ),
            ("network.add_connection", json!({"connection": "a", "ssid": "x", "passphrase": SECRET.repeat(9)})),
            ("network.add_connection", json!({"connection": "a", "ssid": "x", "passphrase": SECRET, "ipv4": "none"})),
            ("network.update_connection", json!({"connection": "simulated-wifi", "passphrase": SECRET})),
            ("network.update_connection", json!({"connection": "nobody's", "passphrase": SECRET})),
        ] {
            let answer = wire.call(tool, args).await;
            said.push(answer.message.to_string());
        }
    }
    assert!(said.iter().any(|answer| answer.contains("confirm_by")), "one was added: {said:#?}");
    assert!(said.iter().any(|answer| answer.contains("a person's approval")), "somebody was asked: {said:#?}");
    said.extend(pi.audit().await.iter().map(ToString::to_string));
    assert!(said.iter().any(|record| record.contains("[redacted]")), "{said:#?}");
    said.push(pi.call("manage.get_server_status", json!({})).await.message.to_string());
    said.push(pi.call("logs.get_recent_app_logs", json!({})).await.message.to_string());
    for text in &said {
        assert!(!text.contains("hunter2"), "{text}");
    }
    let folder = pi.stop_and_keep().await.unwrap();
    let mut found = Vec::new();
    let read = holding(folder.path(), &mut found);
    assert!(read > 3 && found.is_empty(), "of {read} files: {found:?}");
}
