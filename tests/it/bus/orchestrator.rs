//! dbus-mcp's names on the bus.

use super::{BusCaller, BusPi, Failed, NOBODY, introspection::busctl, is_root, signal};
use serde_json::{Value, json};
use zbus::Message;

const NAME: &str = "org.dbusmcp.Orchestrator";
const OBJECT: &str = "/org/dbusmcp/Orchestrator";

async fn start() -> BusPi {
    BusPi::with(|settings| {
        settings.compat.insert("dbus-mcp".into());
        settings.tools.enable.insert("agents".into());
        // Nobody is asked about types that there are not.
        settings.policy.insert("agents.spawn".into(), contract::meta::Mode::Allow);
    })
    .await
}

impl BusCaller {
    async fn orchestrator(
        &self,
        member: &str,
        body: &(impl serde::Serialize + zbus::DynamicType),
    ) -> Result<Message, Failed> {
        self.raw(OBJECT, NAME, member, body).await.map_err(Failed::of)
    }

    /// Hears what the orchestrator tells everybody.
    async fn overhears(&self) -> zbus::MessageStream {
        let (bus, path, rule) = ("org.freedesktop.DBus", "/org/freedesktop/DBus", format!("interface='{NAME}'"));
        self.connection.call_method(Some(bus), path, Some(bus), "AddMatch", &rule).await.unwrap();
        self.hears()
    }
}

/// The command of dbus-mcp's own document, word by word.
#[tokio::test]
async fn the_command_of_dbus_mcp_s_document_spawns_an_agent() {
    if !is_root() {
        return;
    }
    let pi = start().await;
    let caller = pi.caller().await;
    let mut overhears = caller.overhears().await;
    let words =
        "call org.dbusmcp.Orchestrator /org/dbusmcp/Orchestrator org.dbusmcp.Orchestrator SpawnAgent ss systemd {}";
    let said = busctl(&pi, &words.split(' ').collect::<Vec<_>>()).await;
    assert_eq!(said.trim(), r#"s "systemd_1""#);
    let spawned = signal(&mut overhears, "AgentSpawned").await;
    let (id, agent_type, when): (String, String, i64) = spawned.body().deserialize().unwrap();
    assert_eq!((id.as_str(), agent_type.as_str()), ("systemd_1", "systemd"));
    assert!(when > 1_700_000_000);
    let record = pi.pi.audited(|record| record["tool"] == "agents.spawn").await;
    assert_eq!((&record["door"], &record["outcome"]), (&json!("dbus"), &json!("ok")));

    let xml: String = caller
        .raw(OBJECT, "org.freedesktop.DBus.Introspectable", "Introspect", &())
        .await
        .unwrap()
        .body()
        .deserialize()
        .unwrap();
    assert_eq!(xml, include_str!("../../../dist/dbus-1/interfaces/org.dbusmcp.Orchestrator.xml"));
}

#[tokio::test]
async fn an_agent_is_listed_gets_tasks_and_dies() {
    if !is_root() {
        return;
    }
    let pi = start().await;
    let caller = pi.caller().await;
    let mut overhears = caller.overhears().await;
    let answer = caller.orchestrator("SpawnAgent", &("process", "{}")).await.unwrap();
    let id: String = answer.body().deserialize().unwrap();
    let listed = caller.orchestrator("ListAgents", &()).await.unwrap();
    assert_eq!(listed.body().deserialize::<Vec<String>>().unwrap(), std::slice::from_ref(&id));
    let status = caller.orchestrator("GetAgentStatus", &id.as_str()).await.unwrap();
    let status: Value = serde_json::from_str(status.body().deserialize().unwrap()).unwrap();
    assert_eq!((&status["type"], &status["kind"]), (&json!("process"), &json!("view")));

    let task = json!({"id": "t1", "type": "list_processes", "params": {"limit": 1}, "timeout": 30}).to_string();
    let done = caller.orchestrator("SendTask", &(id.as_str(), task.as_str())).await.unwrap();
    let done: Value = serde_json::from_str(done.body().deserialize().unwrap()).unwrap();
    assert_eq!((&done["id"], &done["status"]), (&json!("t1"), &json!("success")));
    assert!(done["output"].is_object() && done["execution_time"].is_number(), "{done}");

    caller.call("agents.shutdown", &json!({"agent_id": id}).to_string()).await.unwrap();
    let died = signal(&mut overhears, "AgentDied").await;
    assert_eq!(died.body().deserialize::<(String, i32, String)>().unwrap(), (id.clone(), 0, "shutdown".into()));
    let gone = caller.orchestrator("SendTask", &(id.as_str(), task.as_str())).await.unwrap_err().is("NotFound");
    assert_eq!(gone.details["dbus_mcp_code"], -32101);
}

#[tokio::test]
async fn each_failure_has_dbus_mcp_s_code() {
    if !is_root() {
        return;
    }
    let pi = start().await;
    let caller = pi.caller().await;
    let code = async |member: &str, first: &str, json: &str, name: &str| {
        let failed = caller.orchestrator(member, &(first, json)).await.unwrap_err().is(name);
        failed.details["dbus_mcp_code"].as_i64().unwrap()
    };
    assert_eq!(code("SpawnAgent", "no_such_type", "{}", "NotFound").await, -32100);
    assert_eq!(code("SendTask", "systemd_9", r#"{"type": "status"}"#, "NotFound").await, -32101);
    assert_eq!(code("SpawnAgent", "systemd", "{", "InvalidArgument").await, -32202);
    // An agent's program is the owner's word, never a caller's.
    assert_eq!(code("SpawnAgent", "systemd", r#"{"command": "/bin/sh"}"#, "InvalidArgument").await, -32202);
    let nobody = pi.caller_as(NOBODY).await;
    let refused = nobody.orchestrator("SpawnAgent", &("systemd", "{}")).await.unwrap_err().is("PermissionDenied");
    assert_eq!(refused.details["dbus_mcp_code"], -32203);
    caller.orchestrator("SpawnAgent", &"systemd").await.unwrap_err().of_bus("InvalidArgs");
    caller.raw(OBJECT, super::TOOLS, "List", &super::Options::new()).await.unwrap_err();
}

#[tokio::test]
async fn without_the_setting_there_is_no_orchestrator() {
    let pi = BusPi::start().await;
    let caller = pi.caller().await;
    caller.orchestrator("ListAgents", &()).await.unwrap_err().of_bus("UnknownObject");
    let asked = caller.connection.call_method(Some(NAME), OBJECT, Some(NAME), "ListAgents", &()).await;
    Failed::of(asked.unwrap_err()).of_bus("ServiceUnknown");
}
