//! A server half that was taken over: it speaks to the routers' process as it likes, and to the privileged half.

use super::{
    house::{House, Process},
    settings::walk,
};
use crate::support::served::{Door, soon};
use raspi_mcp::routeros::table;
use routeros_simulator::PASSWORD;
use serde_json::{Map, Value, json};
use std::{fs, path::Path};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
};

/// What comes back for a request of its own making.
async fn says(process: &Process, request: &Value) -> Value {
    let mut stream = UnixStream::connect(&process.socket).await.unwrap();
    stream.write_all(format!("{request}\n").as_bytes()).await.unwrap();
    let mut text = String::new();
    soon(stream.read_to_string(&mut text)).await.unwrap();
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

fn request(tool: &str, args: Value) -> Value {
    json!({ "subject": false, "tool": tool, "args": args, "principal": "stdio", "ask_id": null, "device_scope": null })
}

/// Every file below these folders that has the password in it.
fn leaks(folders: &[&Path], but: &Path) -> Vec<String> {
    let mut files = Vec::new();
    folders.iter().for_each(|folder| walk(folder, &mut files));
    assert!(files.len() > 3, "{files:?}");
    let has = |bytes: &[u8]| bytes.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes());
    let leaky = files.iter().filter(|file| *file != but && fs::read(file).is_ok_and(|bytes| has(&bytes)));
    leaky.map(|file| file.display().to_string()).collect()
}

#[tokio::test]
async fn no_request_gives_a_password_away() {
    let house = House::with("allow_advanced = true\nallow_professional = true\n").await;
    let server = house.server().await;
    let _logs = server.logs();
    let process = house.process(&server).await;
    let mut wire = server.on(Door::Stdio).await;
    let mut answers = 0;
    for tool in table::all() {
        let args = json!({
            "device_id": "edge", "interface_id": "ether1", "address_id": "*1", "route_id": "*1", "bridge_id": "bridge",
            "address": "192.168.88.1", "count": 1,
        });
        let takes = |name: &String| tool.has(name);
        let args: Map<String, Value> = args
            .as_object()
            .unwrap()
            .iter()
            .filter(|(name, _)| takes(name))
            .map(|(a, b)| (a.clone(), b.clone()))
            .collect();
        let raw = says(&process, &request(tool.name, Value::Object(args.clone()))).await;
        let served = wire.call(tool.name, Value::Object(args)).await;
        answers += usize::from(raw["ok"].is_object());
        for text in [raw.to_string(), served.message.to_string()] {
            assert!(!text.contains(PASSWORD), "{}: {text}", tool.name);
        }
    }
    assert!(answers >= 15, "{answers} tools answered");
    let export = server.call("manage.export_config", json!({})).await.message.to_string();
    let logged = server.call("logs.get_app_logs", json!({})).await.message.to_string();
    let audit = server.call("logs.get_recent_audit_logs", json!({ "limit": 200 })).await.message.to_string();
    for text in [export, logged, audit] {
        assert!(!text.contains(PASSWORD), "{text}");
    }
    let log = process.stop().await;
    assert!(!log.contains(PASSWORD), "{log}");
    let root = house.sources.places.state_dir.ancestors().nth(3).unwrap().to_owned();
    let other = server.server().pipeline.services.settings.places.state_dir.clone();
    let none = leaks(&[&root, &other, house.folder.path()], &house.folder.path().join("edge"));
    assert!(none.is_empty(), "{none:?}");
}

#[tokio::test]
async fn a_router_outside_of_the_configuration_or_of_the_callers_scope_is_refused() {
    let house = House::new().await;
    let server = house.server().await;
    let process = house.process(&server).await;
    for outside in ["attic", "127.0.0.1:443", "edge/../core", ""] {
        let said = says(&process, &request("routeros.get_system_clock", json!({ "device_id": outside }))).await;
        let code = said["error"]["code"].as_str().unwrap();
        assert!(["not_found", "invalid_argument"].contains(&code), "{outside:?}: {said}");
    }
    let mut scoped = request("routeros.get_system_clock", json!({ "device_id": "edge" }));
    scoped["device_scope"] = json!(["core"]);
    assert_eq!(says(&process, &scoped).await["error"]["code"], "permission_denied");
    assert_eq!(house.listener.credentials_seen(), 0);
}

#[tokio::test]
async fn the_process_does_not_run_without_the_privileged_half() {
    let house = House::new().await;
    let missing = house.folder.path().join("no.sock");
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_raspi-mcp"));
    command.env_clear().env("HOME", house.folder.path()).args(["routeros", "serve", "--agent"]).arg(&missing);
    let output = soon(command.output()).await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(4) && said.contains("no.sock"), "{said}");
}
