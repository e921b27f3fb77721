//! A server's tools on a captured machine, to be called as in a conversation:
//! `Pi::like("pi-4b").call("system.get_clock", json!({})).await.ok()`.

use crate::support::trees::{machine, tree};
use agent::{AgentLink, Client};
use base::{clock::Wall, error::ToolError, os::bus::DBus};
use contract::{
    access::{
        caller::{Caller, Transport},
        presence::Presence,
    },
    audit::changed::Changed,
    config::{Places, Settings},
    meta::Role,
};
use hw::machine::Machine;
use raspi_mcp::{
    audit::Audit,
    log::Ring,
    registry::{
        Registry,
        context::{Context, Notes},
        entry::Entry,
        progress::Progress,
    },
    sampling::Sampling,
    services::Services,
    store::Store,
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// One server on one machine, without doors: its tools, its services, no agent.
pub struct Pi {
    pub services: Arc<Services>,
    pub registry: Arc<Registry>,
    pub cancel: CancellationToken,
    /// Where the next calls report to.
    pub progress: Progress,
    caller: Arc<Caller>,
    promises: Arc<Promises>,
    _home: Option<TempDir>,
}

/// The schemas of answers, made when they are first needed.
#[derive(Default)]
struct Promises(Mutex<BTreeMap<String, jsonschema::Validator>>);

impl Promises {
    fn keep(&self, entry: &Entry, value: &Value) {
        let mut schemas = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let schema = schemas.entry(entry.name().to_owned()).or_insert_with(|| {
            jsonschema::options().should_validate_formats(true).build(&entry.output_schema()).unwrap()
        });
        if let Err(fault) = schema.validate(value) {
            panic!("{} broke its own promise: {fault}\n{value:#}", entry.name());
        }
    }
}

/// What a tool answered.
pub struct Answer {
    result: Result<Value, ToolError>,
    /// MCP content beside the text: an image, say.
    #[allow(dead_code)]
    pub content: Vec<Value>,
    pub simulated: bool,
    pub changed: bool,
}

impl Pi {
    /// On a captured tree, with the board that it is.
    pub fn like(name: &str) -> Self {
        Self::on(machine(tree(name)))
    }

    pub fn on(machine: Machine) -> Self {
        Self::on_bus(machine, DBus::at("unix:path=/nowhere"))
    }

    /// With a system bus of the test's own.
    pub fn on_bus(machine: Machine, bus: DBus) -> Self {
        Self::on_bus_with(machine, bus, |_| {})
    }

    pub fn on_bus_with(machine: Machine, bus: DBus, change: impl FnOnce(&mut Settings)) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut settings = Settings::default_for(&places(home.path()));
        // Whether a service may be touched is asked before an agent is.
        settings.service.allow = vec!["*.service".into()];
        change(&mut settings);
        let pi = Self::made_with(settings, machine, home.path(), Wall::system(), bus);
        Self { _home: Some(home), ..pi }
    }

    /// With what it kept in a folder that outlives it, and a clock that a test sets.
    pub fn living_in(machine: Machine, home: &Path, wall: Wall) -> Self {
        Self::made(machine, home, wall, DBus::at("unix:path=/nowhere"))
    }

    /// With settings of the test's own, which need not be those of [`places`].
    pub fn set(settings: Settings, machine: Machine) -> Self {
        let home = tempfile::tempdir().unwrap();
        let pi = Self::made_with(settings, machine, home.path(), Wall::system(), DBus::at("unix:path=/nowhere"));
        Self { _home: Some(home), ..pi }
    }

    /// Somebody else's calls to the same server; on a connection, but for HTTP, which has none that lasts.
    pub fn caller(&self, principal: &str, role: Role, transport: Transport) -> Self {
        let presence = (transport != Transport::Http).then(Presence::default);
        Self {
            services: Arc::clone(&self.services),
            registry: Arc::clone(&self.registry),
            cancel: CancellationToken::new(),
            progress: Progress::default(),
            caller: Arc::new(Caller { presence, ..Caller::new(principal, role, transport) }),
            promises: Arc::clone(&self.promises),
            _home: None,
        }
    }

    /// Ends the connection, as the door that carried it would.
    pub fn hang_up(&self) {
        let presence = self.caller.presence.as_ref().expect("a connection");
        presence.leave();
        self.services.left(presence);
    }

    fn made(machine: Machine, home: &Path, wall: Wall, bus: DBus) -> Self {
        Self::made_with(Settings::default_for(&places(home)), machine, home, wall, bus)
    }

    fn made_with(settings: Settings, mut machine: Machine, home: &Path, wall: Wall, bus: DBus) -> Self {
        let settings = Arc::new(settings);
        let store = Store::open(&home.join("store.db")).unwrap();
        let agent = AgentLink::Socket(Client::new(&settings.places.agent_socket));
        let audit = Audit::new(store.clone(), settings.audit.max_bytes, None);
        let sampling = Sampling::new(store.clone(), settings.metrics.max_bytes, wall);
        machine.bus = bus;
        let services = Services::new(settings, Arc::new(machine), agent, store, audit, Ring::new(10));
        let services = Services { sampling, ..services };
        Self {
            services: Arc::new(services),
            registry: Arc::new(Registry::new(raspi_mcp::tools::NAMESPACES)),
            cancel: CancellationToken::new(),
            progress: Progress::default(),
            caller: Arc::new(Caller::new("test", Role::ReadOnly, Transport::Stdio)),
            promises: Arc::default(),
            _home: None,
        }
    }

    pub async fn call(&self, tool: &str, args: Value) -> Answer {
        let notes = Arc::new(Notes::default());
        let cx = Context {
            services: Arc::clone(&self.services),
            registry: Arc::clone(&self.registry),
            caller: Arc::clone(&self.caller),
            cancel: self.cancel.clone(),
            progress: self.progress.clone(),
            approval: None,
            args_sha256: "".into(),
            peer: None,
            notes: Arc::clone(&notes),
        };
        let entry = self.registry.entries().find(|entry| entry.name() == tool).expect("a tool of that name");
        let result = match entry.prepare(args) {
            Ok(prepared) => match prepared.permit(&cx) {
                Ok(()) => prepared.run(&cx).await,
                Err(refusal) => Err(refusal),
            },
            Err(refusal) => Err(refusal),
        };
        let mut content = Vec::new();
        let result = result.map(|output| {
            content = output.content;
            let value: Value = serde_json::from_str(output.json.get()).unwrap();
            self.promises.keep(&entry, &value);
            value
        });
        Answer { result, content, simulated: notes.is_simulated(), changed: notes.changed_so_far() == Changed::Yes }
    }
}

impl Answer {
    /// The answer, or the refusal's payload.
    pub fn result(self) -> Result<Value, Value> {
        self.result.map_err(|error| error.payload())
    }
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
        identity_dir: home.join("identity"),
        site_dir: home.join("site"),
        state_dir: home.join("state"),
        runtime_dir: home.join("run"),
        agent_state_dir: home.join("agent"),
        agent_socket: home.join("agent.sock"),
        policy_owner: None,
    }
}
