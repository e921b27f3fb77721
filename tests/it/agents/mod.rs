//! Agents: programs that bring tools of their own. The privileged half is real but for its machine and its runner, which starts
//! processes without systemd; ci/nspawn has the sandbox.

mod attacks;
mod bus;
mod cancelled;
mod command;
mod config;
mod examples;
mod kills;
mod life;
mod mcp;
mod official;
mod orchestrator;
mod restarted;
mod results;
mod runner;
mod told;

use crate::support::{
    bus_users::{agent_uid, connect_as, is_root},
    private_bus::PrivateBus,
    served::{Answer, Door, Pi, Wire, simulated, soon},
};
use ::agent::{
    Agent, AgentLink, AgentSettings, Client, Platform, bind,
    machine::SimulatedMachine,
    operations::agents::{AcceptAgent, AcceptRequest, FollowAgents, FollowRequest},
    serve,
};
use base::os::Root;
use contract::{
    access::policy::Policy,
    config::{AgentChoice, AgentType, Settings},
};
use raspi_mcp::{
    cli::agents::{What, perform},
    daemon::Prepare,
};
use runner::Direct;
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    sync::{Arc, Mutex},
};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Both halves, with these agents.
struct Machine {
    pi: Pi,
    /// The privileged half, as a person at the machine reaches it.
    root: AgentLink,
    runner: Arc<Direct>,
    dir: TempDir,
    /// Serves the privileged half.
    serving: Mutex<JoinSet<()>>,
    agent: Arc<Agent>,
    socket: PathBuf,
    settings: Settings,
}

impl Machine {
    /// `agents` may name programs in the folder that it is given.
    async fn new(agents: impl FnOnce(&Folder) -> Vec<Value>) -> Self {
        Self::with(agents, |_| {}).await
    }

    async fn with(agents: impl FnOnce(&Folder) -> Vec<Value>, change: impl FnOnce(&mut Settings)) -> Self {
        Self::made(agents, change, None).await
    }

    /// With agents on `bus`, each as the user of its account there. Needs root.
    async fn on(bus: &PrivateBus, agents: impl FnOnce(&Folder) -> Vec<Value>) -> Self {
        Self::made(agents, |_| {}, Some(bus)).await
    }

    async fn made(
        agents: impl FnOnce(&Folder) -> Vec<Value>,
        change: impl FnOnce(&mut Settings),
        bus: Option<&PrivateBus>,
    ) -> Self {
        let dir = TempDir::new().unwrap();
        let folder = Folder(dir.path().canonicalize().unwrap());
        let declared = agents(&folder).into_iter().map(|agent| serde_json::from_value(agent).unwrap());
        let mut settings = simulated(&dir);
        settings.agents = declared.collect::<Vec<AgentType>>();
        settings.agent = AgentChoice::Socket;
        settings.access.stdio_role = contract::meta::Role::Admin;
        settings.policy.insert("agents.spawn".into(), contract::meta::Mode::Allow);
        change(&mut settings);
        let own = rustix::process::geteuid().as_raw();
        // Never used: the runner changes no account. Not 0, which is refused.
        let uid = if own == 0 { 65534 } else { own };
        let uid = |n: u32| if bus.is_some() { agent_uid(n) } else { uid };
        let users: String = (0..10).map(|n| format!("raspi-mcp-agent-{n}:x:{0}:{0}::/:\n", uid(n))).collect();
        fs::create_dir_all(folder.0.join("etc")).unwrap();
        fs::write(folder.0.join("etc/passwd"), users).unwrap();
        if bus.is_some() {
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self::up(dir, settings, bus).await
    }

    /// Starts both halves.
    async fn up(dir: TempDir, settings: Settings, bus: Option<&PrivateBus>) -> Self {
        let of_agent = AgentSettings::of(&settings, true, Root::at(dir.path().canonicalize().unwrap()));
        let runner = Arc::new(Direct::on(bus.map(|bus| bus.address().to_owned())));
        let platform = Platform {
            runner: Arc::clone(&runner) as _,
            ..Platform::new(::agent::system_clock(), Arc::new(SimulatedMachine::new("first boot")))
        };
        let socket = of_agent.socket.clone();
        let agent = Agent::start(of_agent, platform).unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(serve(bind(&socket, false).unwrap(), Arc::clone(&agent), CancellationToken::new()));
        let served = settings.clone();
        let bus = bus.map(PrivateBus::bus);
        let prepare: Prepare = Box::new(move |server| {
            bus.into_iter().for_each(|bus| server.pipeline.services.agents.on_bus(bus));
            Box::pin(async { Ok(()) })
        });
        let pi = Pi::prepared(move |settings| *settings = served, prepare).await;
        let root = AgentLink::Socket(Client::new(&socket));
        Self { pi, root, runner, dir, serving: Mutex::new(serving), agent, socket, settings }
    }

    /// The same machine after a restart: both halves end, `meanwhile` happens, and both start.
    async fn restarted(self, bus: Option<&PrivateBus>, meanwhile: impl FnOnce(&Folder)) -> Self {
        self.lose_the_privileged_half().await;
        let Self { pi, dir, settings, agent, .. } = self;
        soon(pi.stop()).await.unwrap();
        drop(agent);
        meanwhile(&Folder(dir.path().canonicalize().unwrap()));
        Self::up(dir, settings, bus).await
    }

    /// The privileged half is gone, with all its connections, as when it is killed.
    async fn lose_the_privileged_half(&self) {
        let mut serving = std::mem::take(&mut *self.serving.lock().unwrap());
        serving.shutdown().await;
    }

    /// It is back.
    fn has_the_privileged_half(&self) {
        let served = serve(bind(&self.socket, false).unwrap(), Arc::clone(&self.agent), CancellationToken::new());
        self.serving.lock().unwrap().spawn(served);
    }

    /// Accepts all that an agent says, as a person does.
    async fn accept(&self, agent: &str) {
        let said = self.answered(What::Accept { agent: agent.into() }, "yes\n").await.unwrap();
        assert!(said.contains("Accept these"), "{said}");
        self.until_tools(agent, "accepted").await;
    }

    /// Waits until all tools of an agent are in a state. At its start a server has not heard of them yet.
    async fn until_tools(&self, agent: &str, wanted: &str) {
        soon(async {
            loop {
                let state = self.state(agent).await;
                if state["tools"].as_array().unwrap().iter().all(|tool| tool["state"] == wanted) {
                    return;
                }
                // Nothing says when; a caller has 600 calls a minute.
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        })
        .await;
    }

    async fn until_state(&self, agent: &str, wanted: &str) {
        soon(async {
            while self.state(agent).await["state"] != wanted {
                // Nothing says when.
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        })
        .await;
    }

    /// What `raspi-mcp agents` says to a person who types `input`.
    async fn answered(&self, what: What, mut input: &'static str) -> Result<String, String> {
        let mut said = Vec::new();
        let mut keyboard = input.as_bytes();
        let done = soon(perform(&self.root, what, &Policy::of(&self.settings), &mut keyboard, &mut said)).await;
        input = "";
        let _ = input;
        done.map(|()| String::from_utf8(said).unwrap()).map_err(|failure| failure.message)
    }

    /// Waits until the server's tools are others than when `before` was made.
    async fn changed(&self, mut before: tokio::sync::watch::Receiver<()>) {
        soon(before.changed()).await.unwrap();
    }

    async fn call(&self, tool: &str, args: Value) -> Answer {
        self.pi.on(Door::Stdio).await.call(tool, args).await
    }

    /// The state of each tool of a type, as `agents.get_status` has it.
    async fn state(&self, agent: &str) -> Value {
        self.call("agents.get_status", json!({"agent_id": agent})).await.ok().clone()
    }
}

/// Where programs are written to.
struct Folder(PathBuf);

impl Folder {
    fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }
}

fn input() -> String {
    json!({
        "type": "object", "properties": {"bed": {"type": "integer", "minimum": 1, "maximum": 4}},
        "required": ["bed"], "additionalProperties": false,
    })
    .to_string()
}

/// An agent of kind `command` with the tools of this table.
fn command(name: &str, program: PathBuf, tools: Value) -> Value {
    json!({"type": name, "kind": "command", "program": program, "tools": tools})
}

fn schema(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

async fn listed(wire: &mut Wire) -> Vec<String> {
    let answer = wire.request("tools/list", json!({"limit": 200})).await;
    let tools = answer.result()["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["_meta"]["name"].as_str().unwrap().to_owned()).collect()
}
