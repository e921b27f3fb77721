//! A server's tools on a captured machine, to be called as in a conversation:
//! `Pi::like("pi-4b").call("system.get_clock", json!({})).await.ok()`.

use crate::trees::{machine, tree};
use raspi_mcp::{
    access::{
        audit::Audit,
        caller::{Caller, Door},
    },
    agent::{AgentLink, Client},
    config::{Places, Settings},
    error::ToolError,
    log::Ring,
    machine::Machine,
    os::bus::Bus,
    registry::{
        Registry,
        context::{Context, Notes},
        meta::Role,
    },
    store::Store,
    world::World,
};
use serde_json::Value;
use std::{path::Path, sync::Arc};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// One server on one machine, without doors: its tools, its world, no agent.
pub struct Pi {
    pub world: Arc<World>,
    pub cancel: CancellationToken,
    role: Role,
    _home: TempDir,
}

/// What a tool answered.
pub struct Answer {
    result: Result<Value, ToolError>,
    pub simulated: bool,
}

impl Pi {
    /// On a captured tree, with the board that it is.
    pub fn like(name: &str) -> Self {
        Self::on(machine(tree(name)))
    }

    pub fn on(machine: Machine) -> Self {
        Self::on_bus(machine, Bus::at("unix:path=/nowhere"))
    }

    /// With a system bus of the test's own.
    pub fn on_bus(machine: Machine, bus: Bus) -> Self {
        let home = tempfile::tempdir().unwrap();
        let settings = Arc::new(Settings::default_for(&places(home.path())));
        let store = Store::open(&home.path().join("store.db")).unwrap();
        let agent = AgentLink::Socket(Client::new(&settings.places.agent_socket));
        let audit = Audit::new(store.clone(), settings.audit.max_bytes, None);
        let mut world = World::new(settings, Registry::standard(), machine, agent, store, audit, Ring::new(10));
        world.bus = bus;
        Self { world: Arc::new(world), cancel: CancellationToken::new(), role: Role::ReadOnly, _home: home }
    }

    pub async fn call(&self, tool: &str, args: Value) -> Answer {
        let notes = Arc::new(Notes::default());
        let cx = Context {
            world: Arc::clone(&self.world),
            caller: Arc::new(Caller::new("test", self.role, Door::Stdio)),
            cancel: self.cancel.clone(),
            progress: Default::default(),
            approval: None,
            args_sha256: "".into(),
            peer: None,
            notes: Arc::clone(&notes),
        };
        let entry = self.world.registry.entries().find(|entry| entry.name() == tool).expect("a tool of that name");
        let result = match self.world.registry.prepare(entry, args) {
            Ok(prepared) => prepared.run(&cx).await,
            Err(refusal) => Err(refusal),
        };
        let result = result.map(|output| {
            let value: Value = serde_json::from_str(output.json.get()).unwrap();
            let schema = jsonschema::options().should_validate_formats(true).build(&entry.output_schema()).unwrap();
            if let Err(fault) = schema.validate(&value) {
                panic!("{tool} broke its own promise: {fault}\n{value:#}");
            }
            value
        });
        Answer { result, simulated: notes.is_simulated() }
    }
}

impl Answer {
    #[track_caller]
    pub fn ok(self) -> Value {
        self.result.unwrap_or_else(|error| panic!("{}", error.payload()))
    }
    #[track_caller]
    pub fn refused(self) -> Value {
        match self.result {
            Ok(value) => panic!("expected a refusal, got {value:#}"),
            Err(error) => error.payload(),
        }
    }
}

fn places(home: &Path) -> Places {
    Places {
        image_dir: home.join("image"),
        site_dir: home.join("site"),
        state_dir: home.join("state"),
        runtime_dir: home.join("run"),
        agent_state_dir: home.join("agent"),
        agent_socket: home.join("agent.sock"),
        policy_owner: None,
    }
}
