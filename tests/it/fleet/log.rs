//! `fleet log`: results of updates, asks and heads of the audit, each told once; and what is refused.

use super::Fleet;
use crate::{
    manage::web::{Web, admin, looks_at, until},
    support::{
        fleet::{DeviceClient, FLEET, FleetDesk, HOSTILE, NatsServer},
        served::{Pi, process::command, simulated, soon},
    },
};
use agent::operations::{
    approvals::{DescribeDevice, DeviceRequest},
    fleet::{LogRequest, SignLog},
};
use base::error::ErrorCode;
use contract::meta::Role;
use fleet_protocol::{
    log::{LogKind, LogMessage},
    subject::{Subjects, log_stream},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{fs, time::Duration};
use tempfile::TempDir;

const NAME: &str = "kitchen";
/// A message leaves the device's queue ten seconds after it was sent, at the earliest.
const SETTLED: Duration = Duration::from_secs(100);

/// A device in a fleet whose server half is started and stopped.
struct Member {
    desk: FleetDesk,
    server: NatsServer,
    web: Web,
    home: TempDir,
}

impl Member {
    async fn new() -> Self {
        let desk = FleetDesk::new();
        let server = NatsServer::start(&desk, &[NAME.into()]).await;
        Self { desk, server, web: Web::new(), home: TempDir::new().unwrap() }
    }

    async fn starts(&self) -> Pi {
        let fleet = self.desk.joins(NAME, self.server.port);
        let pi = Pi::standard(|settings| {
            *settings = simulated(&self.home);
            settings.access.stdio_role = Role::Admin;
            settings.approval.wait_seconds = 0;
            settings.tools.enable.insert("system".into());
            looks_at(settings, self.web.folder.path());
            settings.fleet = fleet;
        })
        .await;
        let about = pi.server().pipeline.services.agent.call::<DescribeDevice>(DeviceRequest::default()).await;
        self.desk.knows(NAME, &about.unwrap().key, &format!("sha256:{}", "0".repeat(64)));
        pi
    }

    /// Stops it, and waits until nothing of it is left: its agent holds the folder.
    async fn stops(&self, pi: Pi) {
        let server = std::sync::Arc::downgrade(&pi.server());
        pi.stop().await.unwrap();
        soon(async {
            while server.strong_count() > 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// The messages that the console shows, once they are as `are` says.
    async fn log(&self, are: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let args = ["fleet", "log", "--json", "--dir", self.desk.path().to_str().unwrap(), NAME];
        let shown = async {
            loop {
                let output = command(&self.home, &args).output().await.unwrap();
                assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
                let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
                let messages = answer["messages"].as_array().unwrap();
                if are(messages) {
                    return messages.clone();
                }
            }
        };
        tokio::time::timeout(SETTLED, shown).await.expect("the console does not show it")
    }

    /// What the broker keeps of the device, as it came.
    async fn kept(&self) -> Vec<String> {
        let console = self.server.console(&self.desk).await;
        let mut reader = console.read_stream(log_stream(FLEET)).await.unwrap();
        let mut found = Vec::new();
        while let Some(message) = reader.next_kept().await.unwrap() {
            found.push(String::from_utf8(message.payload.to_vec()).unwrap());
        }
        found
    }

    /// The device's queue, once it is as `is` says.
    async fn queue(&self, is: impl Fn(&[Value]) -> bool) {
        let file = simulated(&self.home).places.state_dir.join("fleet-log.json");
        let waits = async {
            loop {
                let text = fs::read(&file).unwrap_or_else(|_| b"{\"messages\":[]}".to_vec());
                let queue: Value = serde_json::from_slice(&text).unwrap();
                if is(queue["messages"].as_array().unwrap()) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(SETTLED, waits).await.expect("the queue is not as it should be");
    }
}

/// The server asks a person: the ask's id.
async fn asks(pi: &Pi, reason: &str) -> String {
    let refused = pi.call("system.reboot", json!({ "delay_seconds": 60, "reason": reason })).await;
    refused.error()["details"]["ask_id"].as_str().unwrap_or_else(|| panic!("{:#}", refused.error())).to_owned()
}

fn of<'a>(messages: &'a [Value], kind: &str) -> Vec<&'a Value> {
    messages.iter().filter(|message| message["kind"] == kind).map(|message| &message["body"]).collect()
}

fn asked(messages: &[Value], id: &str) -> usize {
    of(messages, "ask").iter().filter(|ask| ask["id"] == id).count()
}

#[tokio::test]
async fn an_update_an_ask_and_a_head_of_the_audit_are_told_once_also_by_the_next_server() {
    let mut member = Member::new().await;
    let manifest = member.web.release("1.1.0", 11, "the second system\n");
    let pi = member.starts().await;
    let mut wire = admin(&pi).await;
    wire.call("manage.update_server", json!({})).await.ok();
    until(&mut wire, "committed", |status| status["phase"] == "committed").await;
    let id = asks(&pi, "hush").await;
    let told = member.log(|all| asked(all, &id) == 1 && !of(all, "update").is_empty()).await;
    let update = of(&told, "update")[0];
    assert_eq!((&update["version"], &update["phase"]), (&json!("1.1.0"), &json!("committed")));
    assert_eq!(update["manifest"], manifest.to_string());
    let ask = of(&told, "ask")[0].as_object().unwrap();
    assert_eq!(ask.keys().collect::<Vec<_>>(), ["id", "tool", "expires_ms"], "never its arguments");
    assert_eq!(ask["tool"], "system.reboot");
    let told = member.log(|all| !of(all, "audit").is_empty()).await;
    let head = of(&told, "audit")[0];
    assert!(head["seq"].as_i64().unwrap() > 0 && head["hash"].as_str().unwrap().len() == 64, "{head}");
    // Repeated, the call finds the same ask.
    assert_eq!(asks(&pi, "hush").await, id);
    member.stops(pi).await;

    let pi = member.starts().await;
    // The update is looked at before the asks.
    let next = asks(&pi, "once more").await;
    let told = member.log(|all| asked(all, &next) == 1).await;
    assert_eq!((of(&told, "update").len(), asked(&told, &id)), (1, 1), "{told:#?}");
    let (code, text) = text(&member, &["--kind", "update"]).await;
    assert!(code == Some(0) && text.contains("kitchen  update 1.1.0 committed"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    member.stops(pi).await;
}

async fn text(member: &Member, args: &[&str]) -> (Option<i32>, String) {
    let args = [&["fleet", "log", "--dir", member.desk.path().to_str().unwrap()], args].concat();
    let output = soon(command(&member.home, &args).output()).await.unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[tokio::test]
async fn the_agent_signs_nothing_that_it_does_not_know() {
    let sign = |pi: &Pi, kind, ask: Option<&str>| {
        let agent = pi.server().pipeline.services.agent.clone();
        let request = LogRequest { kind, ask: ask.map(str::to_owned), dropped: 0 };
        async move { agent.call::<SignLog>(request).await.map(drop).map_err(|error| error.code) }
    };
    let alone = Pi::start().await;
    assert_eq!(sign(&alone, LogKind::Audit, None).await, Err(ErrorCode::FailedPrecondition));
    alone.stop().await.unwrap();
    let member = Member::new().await;
    let pi = member.starts().await;
    assert_eq!(sign(&pi, LogKind::Update, None).await, Err(ErrorCode::NotFound));
    let id = asks(&pi, "pending").await;
    assert_eq!(sign(&pi, LogKind::Ask, Some("ZZZZZZ")).await, Err(ErrorCode::NotFound));
    assert_eq!(sign(&pi, LogKind::Ask, None).await, Err(ErrorCode::NotFound));
    assert_eq!(sign(&pi, LogKind::Ask, Some(&id)).await, Ok(()));
    pi.withdraw_asks().await;
    assert_eq!(sign(&pi, LogKind::Ask, Some(&id)).await, Err(ErrorCode::NotFound));
    member.stops(pi).await;
}

#[tokio::test]
async fn what_waits_for_the_broker_survives_the_server_and_leaves_once_the_broker_answers() {
    let mut member = Member::new().await;
    member.server.stop().await;
    let pi = member.starts().await;
    let id = asks(&pi, "offline").await;
    let has = |all: &[Value]| all.iter().any(|message| message.as_str().unwrap().contains(&id));
    member.queue(has).await;
    member.stops(pi).await;
    // The ask expires with its agent; that it was asked is still told.
    member.server.restart(&member.desk, &[NAME.into()]).await;
    let pi = member.starts().await;
    let told = member.log(|all| asked(all, &id) == 1).await;
    assert_eq!(told.iter().filter(|message| message["dropped"] != 0).count(), 0, "{told:#?}");
    member.queue(<[Value]>::is_empty).await;
    assert_eq!(asked(&member.log(|_| true).await, &id), 1);
    member.stops(pi).await;
}

#[tokio::test]
async fn what_is_sent_again_after_a_lost_connection_is_shown_once() {
    let mut member = Member::new().await;
    let pi = member.starts().await;
    let id = asks(&pi, "again").await;
    member.log(|all| asked(all, &id) == 1).await;
    // Before the device knows that the broker has it.
    member.server.restart(&member.desk, &[NAME.into()]).await;
    let about = |all: &[String]| all.iter().filter(|message| message.contains(&id)).count();
    let twice = async {
        loop {
            let kept = member.kept().await;
            if about(&kept) > 1 {
                return kept;
            }
        }
    };
    let kept = tokio::time::timeout(SETTLED, twice).await.expect("the broker has it twice");
    let copies: Vec<&String> = kept.iter().filter(|message| message.contains(&id)).collect();
    assert_eq!(copies[0], copies[1], "the same message, with its number");
    assert_eq!(asked(&member.log(|_| true).await, &id), 1);
    member.stops(pi).await;
}

#[tokio::test]
#[ignore = "waits for most of a minute: ci/parts/fleet runs it"]
async fn a_broker_that_takes_a_message_and_says_nothing_does_not_have_it() {
    let mut member = Member::new().await;
    let pi = member.starts().await;
    let first = asks(&pi, "before").await;
    member.log(|all| asked(all, &first) == 1).await;
    // As a link that is cut: the kernel takes what is sent, and nobody reads it.
    let broker = Pid::from_raw(member.server.pid().cast_signed()).unwrap();
    kill_process(broker, Signal::STOP).unwrap();
    let id = asks(&pi, "into the void").await;
    let has = |all: &[Value]| all.iter().any(|message| message.as_str().unwrap().contains(&id));
    member.queue(has).await;
    // Nothing tells that a message was not given up: longer than a message has to wait.
    tokio::time::sleep(Duration::from_secs(13)).await;
    member.queue(has).await;
    member.server.restart(&member.desk, &[NAME.into()]).await;
    assert_eq!(asked(&member.log(|all| asked(all, &id) > 0).await, &id), 1);
    member.stops(pi).await;
}

/// Puts a message under a device's subject, whoever signed it, and waits until the stream shows it.
async fn delivers(fleet: &Fleet, by: &DeviceClient, name: &str, message: &str) {
    let console = fleet.server.console(&fleet.desk).await;
    let mut stream = console.read_stream(log_stream(FLEET)).await.unwrap();
    while stream.next_kept().await.unwrap().is_some() {}
    by.broker.publish(Subjects::of(FLEET).log(name), message.to_owned().into()).await.unwrap();
    soon(async { while stream.next().await.unwrap().payload != message.as_bytes() {} }).await;
}

#[tokio::test]
async fn what_another_device_or_the_broker_makes_up_is_refused_and_the_signer_named() {
    let fleet = Fleet::of(&["attic", "shed", HOSTILE]).await;
    let [attic, shed, hostile] = &fleet.clients[..] else { panic!("three devices") };
    let good = attic
        .device
        .log(LogKind::Audit, 7, json!({ "chain": "c", "seq": 1, "hash": "h" }))
        .sign(&attic.device.key)
        .unwrap();
    delivers(&fleet, attic, "attic", &good).await;
    // A replay is known by its number.
    delivers(&fleet, hostile, "attic", &good).await;
    let (code, answer) = fleet.json(&["log"]).await;
    assert_eq!((code, answer["messages"].as_array().unwrap().len(), &answer["refused"]), (0, 1, &json!([])));
    // A number that is lower came later: it waited at the device.
    attic.logs(&attic.device.log(LogKind::Audit, 6, json!({ "seq": 0 }))).await;
    let (code, answer) = fleet.json(&["log", "--kind", "audit", "attic"]).await;
    assert_eq!((code, answer["messages"].as_array().unwrap().len()), (0, 2));

    let other = shed.device.log(LogKind::Audit, 9, json!({}));
    let as_attic = LogMessage { name: "attic".into(), ..shed.device.log(LogKind::Audit, 9, json!({})) };
    let away = LogMessage { fleet: "away".into(), ..attic.device.log(LogKind::Audit, 9, json!({})) };
    for (name, lie, why, by) in [
        ("attic", good.replace("\"seq\":1", "\"seq\":2"), "signature", Value::Null),
        ("attic", other.sign(&shed.device.key).unwrap(), "signature", json!("shed")),
        ("attic", as_attic.sign(&shed.device.key).unwrap(), "signature", json!("shed")),
        ("attic", away.sign(&attic.device.key).unwrap(), "another fleet", Value::Null),
        ("shed", as_attic.sign(&shed.device.key).unwrap(), "another device than its subject", Value::Null),
        ("attic", attic.device.signs(&json!({})), "signature", Value::Null),
        ("nobody", good.clone(), "no device of this name", Value::Null),
    ] {
        delivers(&fleet, hostile, name, &lie).await;
        let (code, answer) = fleet.json(&["log"]).await;
        let refused = answer["refused"].as_array().unwrap().iter().find(|refused| refused["name"] == name);
        let refused = refused.unwrap_or_else(|| panic!("{lie}: {answer:#}"));
        assert_eq!((code, &refused["signed_by"]), (5, &by), "{lie}: {answer:#}");
        assert!(refused["reason"].as_str().unwrap().contains(why), "{lie}: {answer:#}");
        assert_eq!(answer["messages"].as_array().unwrap().len(), 2, "{lie}");
    }
    let (code, text, _) = fleet.runs(&["log"]).await;
    assert!(code == 5 && text.contains("refused: 5 log messages under the name attic"), "{text}");
    let (code, _, why) = fleet.runs(&["log", "nobody"]).await;
    assert!(code != 0 && why.contains("no device nobody"), "{code} {why}");
}
