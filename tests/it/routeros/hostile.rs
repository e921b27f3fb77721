//! A server half that was taken over: it speaks to the routers' process as it likes, and to the privileged half.

use super::{
    house::{House, Process},
    settings::walk,
};
use crate::support::served::{Door, soon};
use ::agent::{AgentLink, AskRequest, Client, operations::asks};
use base::canonical;
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
    soon(answered(process, request)).await
}

/// As [`says`], however long it takes.
pub(super) async fn answered(process: &Process, request: &Value) -> Value {
    let mut stream = UnixStream::connect(&process.socket).await.unwrap();
    stream.write_all(format!("{request}\n").as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

pub(super) fn request(tool: &str, args: Value) -> Value {
    json!({ "call": { "tool": tool, "args": args, "principal": "stdio", "ask_id": null, "device_scope": null } })
}

/// The same with the number of an approval.
pub(super) fn with_ask(mut request: Value, id: &str) -> Value {
    request["call"]["ask_id"] = id.into();
    request
}

/// A person at the machine.
pub(super) struct Person(AgentLink);

impl Person {
    pub(super) fn of(house: &House) -> Self {
        Self(AgentLink::Socket(Client::new(&house.sources.places.agent_socket)))
    }

    /// Is shown this of that tool, and says yes; the number of the approval.
    pub(super) async fn approves(&self, tool: &str, shown: &Value) -> String {
        let request = AskRequest {
            tool: tool.into(),
            summary: "a small change".into(),
            args: shown.clone(),
            marks: Default::default(),
            args_sha256: canonical::sha256_hex(shown),
            principal: "stdio".into(),
            ..Default::default()
        };
        let asked = self.0.call::<asks::OpenAsk>(request).await.unwrap();
        let answer = asks::AnswerRequest { id: asked.id, approve: true };
        self.0.call::<asks::AnswerAsk>(answer).await.unwrap().id
    }
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
    scoped["call"]["device_scope"] = json!(["core"]);
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

/// A plan that adds a rule, made through the process; with the question that a person would be asked.
async fn planned(house: &House, process: &Process, comment: &str) -> (Value, Value) {
    house.was_tested().await;
    let rule = json!({
        "device_ids": ["edge"], "chain": "forward", "action": "drop", "src_address": "198.51.100.0/24", "place": "first", "comment": comment,
    });
    let made = says(process, &request("routeros.plan_add_firewall_rule", rule)).await;
    let id = made["ok"]["plan_id"].as_str().unwrap_or_else(|| panic!("{made}"));
    let apply = request("routeros.apply_firewall_plan", json!({ "plan_id": id }));
    let subject = says(process, &json!({ "subject": apply["call"] })).await["ok"].clone();
    assert_eq!(subject["devices"][0]["device_id"], "edge", "{subject}");
    (apply, subject)
}

#[tokio::test]
async fn it_cannot_apply_a_plan_that_nobody_saw_nor_another_than_was_seen() {
    let house = House::with("allow_professional = true\n").await;
    let server = house.server().await;
    let process = house.process(&server).await;
    let (apply, subject) = planned(&house, &process, "the first").await;
    let (other, of_other) = planned(&house, &process, "the second").await;
    let person = Person::of(&house);
    let tool = "routeros.apply_firewall_plan";
    // Shown as harmless, under the plan's own number.
    let mut harmless = subject.clone();
    harmless["devices"][0]["changes"] = json!(["nothing at all"]);
    let for_harmless = person.approves(tool, &harmless).await;
    let for_other = person.approves(tool, &of_other).await;
    let for_arguments = person.approves(tool, &apply["call"]["args"]).await;
    let for_other_tool = person.approves("routeros.apply_routing_plan", &subject).await;
    let before = house.router.writes();
    for ask in ["", "000000", &for_harmless, &for_other, &for_arguments, &for_other_tool] {
        let refused = says(&process, &with_ask(apply.clone(), ask)).await;
        let code = refused["error"]["code"].as_str().unwrap_or_else(|| panic!("{ask}: {refused}"));
        assert!(["permission_denied", "not_found"].contains(&code), "{ask}: {refused}");
    }
    let refused = says(&process, &apply).await;
    assert_eq!(refused["error"]["code"], "permission_denied", "{refused}");
    assert_eq!(house.router.writes(), before, "nothing was written");
    // What was approved is applied, once.
    let applied = says(&process, &with_ask(other.clone(), &for_other)).await;
    assert_eq!(applied["ok"]["status"], "done", "{applied}");
    assert!(house.router.export().contains("the second") && !house.router.export().contains("the first"));
    let writes = house.router.writes();
    let again = says(&process, &with_ask(other, &for_other)).await;
    assert!(again["error"].is_object() && house.router.writes() == writes, "{again}");
}

#[tokio::test]
async fn it_cannot_change_a_router_that_the_owner_has_not_opened() {
    let house = House::new().await;
    let server = house.server().await;
    let process = house.process(&server).await;
    let args = json!({ "device_id": "edge", "identity": "mine" });
    let tool = "routeros.set_system_identity";
    let yes = Person::of(&house).approves(tool, &args).await;
    let refused = says(&process, &with_ask(request(tool, args), &yes)).await;
    assert_eq!(refused["error"]["details"]["device_id"], "edge", "{refused}");
    assert_eq!(house.router.writes(), 0);
}

#[tokio::test]
async fn where_the_owner_wants_to_be_asked_a_single_change_needs_exactly_that_answer() {
    let policy = "allow_advanced = true\n[policy]\n\"routeros.set_system_identity\" = \"ask\"\n";
    let house = House::with(policy).await;
    let server = house.server().await;
    let process = house.process(&server).await;
    let tool = "routeros.set_system_identity";
    let named = |name: &str| json!({ "device_id": "edge", "identity": name });
    let shown = says(&process, &json!({ "subject": request(tool, named("attic"))["call"] })).await["ok"].clone();
    let yes = Person::of(&house).approves(tool, &shown).await;
    let refused = says(&process, &with_ask(request(tool, named("mine")), &yes)).await;
    assert_eq!(refused["error"]["code"], "permission_denied", "{refused}");
    assert_eq!(house.router.writes(), 0);
    let done = says(&process, &with_ask(request(tool, named("attic")), &yes)).await;
    assert_eq!((&done["ok"]["changed"], house.router.writes()), (&json!(true), 1), "{done}");
}
