//! Kind `dbus`: agents on a real dbus-daemon with the rules that this product ships, each as the user of its account.

mod attacks;
mod comes;
mod rules;

use super::*;
use contract::access::caller::{Caller, Transport};
use futures::StreamExt;
use raspi_mcp::agents::{AgentEvent, DeathReason};
use std::sync::Mutex;
use zbus::{Connection, MessageStream, message::Type};

const BUS: &str = "org.freedesktop.DBus";
const NAME: &str = "org.dbusmcp.Agent.thing";
const PATH: &str = "/org/dbusmcp/Agent/thing/0";

/// What it says of its tools: each does what it is called.
fn tools() -> Value {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let input = json!({"type": "object", "properties": {}});
    let tool = |name: &str| json!({"name": name, "description": format!("Does {name}."), "inputSchema": input});
    let mut tools: Vec<Value> =
        ["Say-Hello", "unnamed", "echo", "hang", "flood", "lie", "number", "err", "other", "garbage", "leave"]
            .map(tool)
            .into();
    for tool in &mut tools[5..7] {
        tool["outputSchema"] = schema.clone();
    }
    Value::Array(tools)
}

/// The owner's declaration of it; it comes by itself.
fn declared(folder: &Folder) -> Vec<Value> {
    let names = ["say_hello", "echo", "hang", "flood", "lie", "number", "err", "other", "garbage", "leave"];
    let tool = json!({"tier": "fundamental"});
    let mut tools: serde_json::Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), tool.clone())).collect();
    tools["hang"] = json!({"tier": "fundamental", "timeout_seconds": 1});
    let program = folder.program("thing", "#!/bin/sh\n");
    vec![json!({"type": "thing", "kind": "dbus", "start": "never", "program": program, "tools": tools})]
}

/// An agent in this process: a connection as another user.
struct Thing {
    connection: Connection,
    /// What it says of its tools from now on.
    tools: Arc<Mutex<Value>>,
    /// The tasks that it was given, and what it was told.
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Thing {
    /// Comes as the user of the account `n`, and takes its name.
    async fn come(bus: &PrivateBus, n: u32) -> Self {
        let this = Self::on(connect_as(bus, agent_uid(n)).await);
        assert_eq!(this.take().await.unwrap(), 1);
        this
    }

    fn on(connection: Connection) -> Self {
        let (tools, heard) = (Arc::new(Mutex::new(tools())), Arc::default());
        let mut calls = MessageStream::from(&connection);
        let this = Self { connection: connection.clone(), tools: Arc::clone(&tools), heard: Arc::clone(&heard) };
        tokio::spawn(async move {
            while let Some(Ok(message)) = calls.next().await {
                if message.message_type() == Type::MethodCall && !answer(&connection, &message, &tools, &heard).await {
                    return;
                }
            }
        });
        this
    }

    /// Asks the bus for its name: 1 says that it has it.
    async fn take(&self) -> zbus::Result<u32> {
        let asked = self.connection.call_method(Some(BUS), "/", Some(BUS), "RequestName", &(NAME, 4_u32)).await?;
        asked.body().deserialize()
    }

    async fn release(&self) {
        self.connection.call_method(Some(BUS), "/", Some(BUS), "ReleaseName", &NAME).await.unwrap();
    }
}

/// Returns whether it goes on.
async fn answer(bus: &Connection, call: &zbus::Message, tools: &Mutex<Value>, heard: &Mutex<Vec<Value>>) -> bool {
    let header = call.header();
    assert_eq!(header.path().unwrap(), PATH);
    assert_eq!(header.interface().unwrap(), "org.dbusmcp.Agent");
    let body = call.body();
    match header.member().unwrap().as_str() {
        "GetCapabilities" => {
            // What a test has written there.
            let is = |word: &str| heard.lock().unwrap().contains(&json!(word));
            if is("watched") {
                heard.lock().unwrap().push(json!("asked"));
            }
            if is("stuck") {
                return true;
            }
            let text = match &*tools.lock().unwrap() {
                Value::String(other) => other.clone(),
                tools => json!({"tools": tools}).to_string(),
            };
            bus.reply(&header, &text).await.unwrap();
        }
        "Shutdown" => heard.lock().unwrap().push(json!({"shutdown": body.deserialize::<bool>().unwrap()})),
        _ => {
            let task: Value = serde_json::from_str(body.deserialize().unwrap()).unwrap();
            heard.lock().unwrap().push(task.clone());
            let success =
                |output: Value| json!({"id": task["id"], "status": "success", "output": output, "error": null});
            let text = match task["params"]["name"].as_str().unwrap() {
                "hang" => return true,
                "leave" => {
                    bus.clone().close().await.unwrap();
                    return false;
                }
                "flood" => success("x".repeat(11 << 20).into()).to_string(),
                "lie" => success(json!({"n": "one"})).to_string(),
                "number" => success(json!({"n": 1})).to_string(),
                "err" => {
                    json!({"id": task["id"], "status": "failed", "output": null, "error": "no such file"}).to_string()
                }
                "other" => json!({"id": "task-0", "status": "success", "output": "hello"}).to_string(),
                "garbage" => "this is no JSON".to_owned(),
                _ => success("hello".into()).to_string(),
            };
            bus.reply(&header, &text).await.unwrap();
        }
    }
    true
}

async fn until_state(machine: &Machine, state: &str) {
    machine.until_state("thing", state).await;
}

fn admin() -> Caller {
    Caller::new("stdio", contract::meta::Role::Admin, Transport::Stdio)
}
