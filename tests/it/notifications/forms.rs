//! The two forms, the signature and the token, as a receiver sees them.

use super::receiver::{Receiver, told, webhook};
use contract::config::Places;
use contract::config::Settings;
use raspi_mcp::notifications::{
    Event,
    message::Message,
    post::{Outcome, Post},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};
use tempfile::TempDir;

const NOW_MS: i64 = 1_768_485_600_000;

/// A file that only its owner reads.
fn secret(folder: &TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path.display().to_string()
}

async fn send(receiver: &Receiver, more: Value, event: Event, page: &str, root: &Path) -> Outcome {
    let message = Message::new(event, NOW_MS, None).unwrap();
    let root = base::os::Root::at(root);
    Post::to(&webhook(&receiver.url("/topic"), more), page, &root).send(&message, 2, NOW_MS).await
}

fn disk(mount: &str) -> Event {
    Event::DiskNearlyFull { mount: mount.into(), used_percent: 91 }
}

/// A machine with this name.
fn named(name: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::create_dir_all(folder.path().join("proc/sys/kernel")).unwrap();
    fs::write(folder.path().join("proc/sys/kernel/hostname"), name).unwrap();
    folder
}

#[tokio::test]
async fn ntfy_gets_a_text_with_title_priority_tags_and_link() {
    let (receiver, machine) = (Receiver::new().await, named("pi-4\n"));
    let token = secret(&machine, "token", "tk_abc\n");
    let more = json!({"form": "ntfy", "token_file": token});
    let outcome = send(&receiver, more, disk("/data"), "https://pi.local:8444/", machine.path()).await;
    assert_eq!(outcome, Outcome::Taken(200));
    let request = &receiver.requests(1).await[0];
    assert!(request.head.starts_with("POST /topic HTTP/1.1\r\n"), "{}", request.head);
    assert_eq!(request.header("Title"), "pi-4: disk nearly full");
    assert_eq!((request.header("Priority"), request.header("Tags")), ("4", "disk_nearly_full"));
    assert_eq!(request.header("Click"), "https://pi.local:8444/");
    assert_eq!(request.header("Authorization"), "Bearer tk_abc");
    assert_eq!(
        request.body,
        "/data is 91 % full. Delete something there, or move it.\n2 messages before this one were lost."
    );
    assert!(!request.has("X-Raspi-MCP-Signature"));
}

#[tokio::test]
async fn json_has_the_same_and_the_fields() {
    let (receiver, machine) = (Receiver::new().await, named("pi-4\n"));
    send(&receiver, json!({}), disk("/data"), "", machine.path()).await;
    let request = &receiver.requests(1).await[0];
    assert_eq!(request.header("Content-Type"), "application/json");
    let mut body = request.json();
    assert_eq!(body["id"].as_str().unwrap().len(), 16);
    body.as_object_mut().unwrap().shift_remove("id");
    let expected = json!({
        "event": "disk_nearly_full",
        "device": "pi-4",
        "time": "2026-01-15T14:00:00.000Z",
        "title": "pi-4: disk nearly full",
        "message": "/data is 91 % full. Delete something there, or move it.",
        "data": {"mount_point": "/data", "used_percent": 91},
        "dropped": 2,
    });
    assert_eq!(body, expected);
    assert!(!request.has("Authorization") && !request.has("Title"));
}

/// HMAC-SHA256 by its definition (RFC 2104), with another library than the product's.
fn hmac(key: &[u8], text: &[u8]) -> String {
    assert!(key.len() <= 64);
    let padded = |with: u8| -> Vec<u8> { (0..64).map(|at| key.get(at).copied().unwrap_or(0) ^ with).collect() };
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(text).finalize();
    let outer = Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize();
    outer.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn the_signature_covers_time_and_body() {
    let (receiver, machine) = (Receiver::new().await, named("pi\n"));
    let key = "0123456789abcdef0123456789abcdef";
    let file = secret(&machine, "key", &format!("{key}\n"));
    for form in ["json", "ntfy"] {
        send(&receiver, json!({"form": form, "secret_file": file}), disk("/data"), "", machine.path()).await;
    }
    for request in receiver.requests(2).await {
        let stamp = request.header("X-Raspi-MCP-Timestamp");
        assert_eq!(stamp, (NOW_MS / 1000).to_string());
        let expected = hmac(key.as_bytes(), format!("{stamp}.{}", request.body).as_bytes());
        assert_eq!(request.header("X-Raspi-MCP-Signature"), format!("sha256={expected}"));
        let other = hmac(key.as_bytes(), format!("{stamp}.{} ", request.body).as_bytes());
        assert_ne!(request.header("X-Raspi-MCP-Signature"), format!("sha256={other}"));
        assert!(!request.head.contains(key) && !request.body.contains(key));
    }
}

#[tokio::test]
async fn a_secret_that_others_read_or_that_is_none_is_not_sent() {
    let (receiver, machine) = (Receiver::new().await, named("pi\n"));
    let open = secret(&machine, "open", "tk_abc");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o644)).unwrap();
    for (more, says) in [
        (json!({"token_file": open}), "everybody on this machine"),
        (json!({"token_file": secret(&machine, "two", "a b")}), "holds no token"),
        (json!({"token_file": "/nowhere/token"}), "/nowhere/token"),
        (json!({"secret_file": secret(&machine, "short", "0123456789abcde")}), "16 to 1024 bytes"),
    ] {
        match send(&receiver, more, Event::Test, "", machine.path()).await {
            Outcome::Later(why) => assert!(why.contains(says) && !why.contains("tk_abc"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    assert!(receiver.so_far().is_empty());
}

#[tokio::test]
async fn a_hostile_name_is_text_and_nothing_else() {
    let (receiver, machine) = (Receiver::new().await, named("pi\u{1b}[2J\tKüche"));
    let mount = "/data\r\nX-Evil: 1\r\n\r\nGET / HTTP/1.1";
    for form in ["ntfy", "json"] {
        let outcome = send(&receiver, json!({"form": form}), disk(mount), "", machine.path()).await;
        assert_eq!(outcome, Outcome::Taken(200));
    }
    let requests = receiver.requests(2).await;
    assert_eq!(requests.len(), 2);
    for request in &requests {
        assert!(!request.has("X-Evil") && request.head.is_ascii(), "{}", request.head);
        assert!(!request.body.contains('\r') && !request.body.contains('\u{1b}'), "{}", request.body);
    }
    let title = requests[0].header("Title");
    assert!(title.starts_with("=?UTF-8?B?") && title.ends_with("?="), "{title}");
}

#[tokio::test]
async fn what_is_shown_of_the_settings_has_no_path() {
    let (receiver, machine) = (Receiver::new().await, TempDir::new().unwrap());
    let mut settings = Settings::default_for(&Places::below(machine.path()));
    told(&mut settings, &receiver, json!({}));
    let shown = settings.summary().to_string();
    assert!(shown.contains(&receiver.url("")) && !shown.contains("topic"), "{shown}");
}
