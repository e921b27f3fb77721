//! A server to talk to: in this process on a folder of its own, or as a process.
//!
//! ```text
//! let pi = Pi::start().await;
//! pi.call("tools.search", json!({"query": 7})).await.refused("/query");
//! for mut wire in pi.every_door().await { wire.raw("{").await; wire.answer().await.fault(-32700); }
//! ```

mod answer;
pub mod bench;
pub mod issuer;
mod post;
pub mod process;
pub mod secure;
mod wire;

pub use answer::Answer;
pub use wire::{Wire, modern_meta, request};

use crate::support::fixtures;
use agent::operations as op;
use bench::Bench;
use contract::{
    access::{caller::Caller, token::Token},
    config::{self, AgentChoice, BoardChoice, CliFlag, Places, Reload, Settings, Sources, TokenSetting},
    meta::Role,
};
use raspi_mcp::{
    audit::AuditFilter,
    daemon::{self, Prepare, RunningServer, Serve},
    log::Ring,
    registry::{Registry, row::ToolRow},
    rpc::{
        mcp::{
            appliance::Appliance,
            provider::{Provider, ToolsOnly},
        },
        router::Server,
    },
    tools, transport,
};
use serde_json::Value;
use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tracing_subscriber::layer::SubscriberExt;

/// Nothing here takes this long; a test that waits longer has found a hang.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The ways in. `Api` is HTTP's plain endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    Stdio,
    Unix,
    Http,
    Api,
    Ws,
}

impl Door {
    pub const ALL: [Door; 5] = [Door::Stdio, Door::Unix, Door::Http, Door::Api, Door::Ws];
    /// One connection, messages both ways.
    pub const STREAMS: [Door; 3] = [Door::Stdio, Door::Unix, Door::Ws];

    pub fn is_http(self) -> bool {
        matches!(self, Door::Http | Door::Api)
    }
}

/// A server in this process, with the tools of `src/tools` and those of [`bench`].
pub struct Pi {
    running: RunningServer,
    /// What the test tools wait for and report to.
    pub bench: Arc<Bench>,
    _root: TempDir,
}

impl Pi {
    pub async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// A server whose settings differ from the defaults.
    pub async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let slices: Vec<&'static [ToolRow]> = tools::NAMESPACES.iter().copied().chain([bench::TOOLS]).collect();
        Self::of(Registry::new(&slices), Arc::new(Appliance::default()), change).await
    }

    /// A server that offers nothing beside its tools.
    pub async fn tools_only() -> Self {
        Self::of(Registry::new(raspi_mcp::tools::NAMESPACES), Arc::new(ToolsOnly), |_| {}).await
    }

    /// A server with the tools of `src/tools` alone.
    pub async fn standard(change: impl FnOnce(&mut Settings)) -> Self {
        Self::of(Registry::new(raspi_mcp::tools::NAMESPACES), Arc::new(Appliance::default()), change).await
    }

    /// The same, with something to do before it listens.
    pub async fn prepared(change: impl FnOnce(&mut Settings), prepare: Prepare) -> Self {
        let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
        Self::made(registry, Arc::new(Appliance::default()), change, Some(prepare)).await
    }

    /// A server with these tools alone.
    pub async fn offering(tools: &[&'static [ToolRow]], change: impl FnOnce(&mut Settings)) -> Self {
        Self::of(Registry::new(tools), Arc::new(ToolsOnly), change).await
    }

    /// A server with what the conformance suite looks for.
    pub async fn with_fixtures() -> Self {
        Self::of(fixtures::registry(), Arc::new(fixtures::Fixtures::default()), |_| {}).await
    }

    async fn of(registry: Registry, provider: Arc<dyn Provider>, change: impl FnOnce(&mut Settings)) -> Self {
        Self::made(registry, provider, change, None).await
    }

    async fn made(
        registry: Registry,
        provider: Arc<dyn Provider>,
        change: impl FnOnce(&mut Settings),
        prepare: Option<Prepare>,
    ) -> Self {
        let root = TempDir::new().unwrap();
        let mut settings = simulated(&root);
        settings.access.stdio_role = Role::Admin;
        change(&mut settings);
        let bench = Bench::of(&settings.places.state_dir);
        let log = Ring::new(settings.log.ring_lines);
        let serve = Serve { settings, registry, stdio: false, log, reload: Default::default(), provider, prepare };
        let running = daemon::start(serve).await.unwrap();
        Self { running, bench, _root: root }
    }

    /// A server of a simulated machine that reads its configuration below `root`, and again when `raspi-mcp allow` has changed it. With
    /// what it reads.
    pub async fn of_site(site: &[(&str, &str)]) -> (Self, Sources) {
        let root = TempDir::new().unwrap();
        let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
        let tools = raspi_mcp::cli::sources::known(&registry);
        let mut sources = Sources::new(Places::below(root.path()), tools);
        let flags = [("board", "simulated"), ("agent", "inprocess"), ("http.listen", "127.0.0.1:0")];
        let flag = |(key, value): (&str, &str)| CliFlag { key: key.into(), value: value.into(), flag: key.into() };
        sources.flags = flags.map(flag).to_vec();
        for (name, text) in site {
            std::fs::create_dir_all(&sources.places.site_dir).unwrap();
            std::fs::write(sources.places.site_dir.join(name), text).unwrap();
        }
        let running = Self::of_sources(&sources).await;
        (Self { _root: root, ..running }, sources)
    }

    /// Another run of one of [`Pi::of_site`], whose folder is kept by the caller.
    pub async fn of_sources(sources: &Sources) -> Self {
        let settings = config::load(sources).unwrap();
        let bench = Bench::of(&settings.places.state_dir);
        let log = Ring::new(settings.log.ring_lines);
        let reload = Reload::of(sources.clone(), config::load);
        let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
        let provider = Arc::new(Appliance::default());
        let serve = Serve { settings, registry, stdio: false, log, reload, provider, prepare: None };
        let running = daemon::start(serve).await.unwrap();
        Self { running, bench, _root: TempDir::new().unwrap() }
    }

    pub fn server(&self) -> Arc<Server> {
        Arc::clone(&self.running.server)
    }

    pub fn address(&self) -> SocketAddr {
        self.running.http.expect("HTTP is on")
    }

    /// A new conversation through `door`.
    pub async fn on(&self, door: Door) -> Wire {
        match door {
            Door::Stdio => {
                self.stdio(Caller::new("stdio", self.stdio_role(), contract::access::caller::Transport::Stdio))
            }
            Door::Unix => {
                let path = &self.running.server.pipeline.services.settings.socket.path;
                let (reader, writer) = tokio::net::UnixStream::connect(path).await.unwrap().into_split();
                Wire::lines(door, reader, writer)
            }
            Door::Http => Wire::http(door, format!("http://{}/mcp", self.address())),
            Door::Api => Wire::http(door, format!("http://{}/api/mcp", self.address())),
            Door::Ws => Wire::websocket(&format!("ws://{}/ws", self.address())).await,
        }
    }

    /// A conversation over pipes with a caller of the test's choice.
    pub fn stdio(&self, caller: Caller) -> Wire {
        let (ours, theirs) = tokio::io::duplex(4096);
        let (reader, writer) = tokio::io::split(theirs);
        let server = self.server();
        let tasks = server.tasks.clone();
        tasks.spawn(transport::lines::serve(server, caller, reader, writer));
        let (reader, writer) = tokio::io::split(ours);
        Wire::lines(Door::Stdio, reader, writer)
    }

    fn stdio_role(&self) -> Role {
        self.running.server.pipeline.services.settings.access.stdio_role
    }

    pub async fn every_door(&self) -> Vec<Wire> {
        self.on_all(&Door::ALL).await
    }

    pub async fn on_all(&self, doors: &[Door]) -> Vec<Wire> {
        let mut wires = Vec::new();
        for door in doors {
            wires.push(self.on(*door).await);
        }
        wires
    }

    /// `tools/call` over a conversation of its own.
    pub async fn call(&self, tool: &str, args: Value) -> Answer {
        self.on(Door::Stdio).await.call(tool, args).await
    }

    /// Lines that this thread logs go to this server's log, until the returned value is dropped.
    pub fn logs(&self) -> tracing::subscriber::DefaultGuard {
        let ring = self.running.server.pipeline.services.log.clone();
        // tracing remembers for each line whether anybody wants it. With one subscriber it asks only the thread that comes to the
        // line first, which may be another test's; a second one, for all threads, makes it ask both.
        let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry());
        tracing::subscriber::set_default(tracing_subscriber::registry().with(ring))
    }

    /// Takes back every question that waits for a person.
    pub async fn withdraw_asks(&self) {
        let agent = &self.running.server.pipeline.services.agent;
        for ask in agent.get::<op::asks::ListAsks>().await.unwrap() {
            agent.call::<op::asks::WithdrawAsk>(op::asks::WithdrawRequest { id: ask.id.clone() }).await.unwrap();
        }
    }

    /// The newest audit records first.
    pub async fn audit(&self) -> Vec<Value> {
        self.running.server.pipeline.services.audit.recent(AuditFilter::default(), 1000, 0).await.unwrap().0
    }

    /// Waits until the audit holds a record that `wanted` accepts, and returns it.
    pub async fn audited(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let started = Instant::now();
        loop {
            let records = self.audit().await;
            if let Some(record) = records.iter().find(|record| wanted(record)) {
                return record.clone();
            }
            assert!(started.elapsed() < PATIENCE, "no such audit record among {records:#?}");
            tokio::task::yield_now().await;
        }
    }

    /// Waits until the audit knows of `n` calls with this outcome: by records of their own, or by their number.
    pub async fn audit_of(&self, n: usize, outcome: &str) {
        let started = Instant::now();
        loop {
            let found = calls(self.audit().await.iter().filter(|record| record["outcome"] == outcome));
            if found >= n {
                assert_eq!(found, n);
                return;
            }
            assert!(started.elapsed() < PATIENCE, "{found} of {n} records say {outcome}");
            tokio::task::yield_now().await;
        }
    }

    pub async fn stop(self) -> Result<(), String> {
        self.stop_and_keep().await.map(drop)
    }

    /// The same; what it has stored stays as long as the result.
    pub async fn stop_and_keep(self) -> Result<TempDir, String> {
        soon(self.running.stop()).await.map(|()| self._root)
    }
}

/// How many calls these records are of: some are of many.
pub fn calls<'a>(records: impl Iterator<Item = &'a Value>) -> usize {
    records.map(|record| record["count"].as_u64().map_or(1, |count| usize::try_from(count).unwrap())).sum()
}

/// A token and the setting that lets it in.
pub fn token(name: &str, role: Role) -> (String, TokenSetting) {
    let token = Token::mint().unwrap();
    (
        token.reveal().to_owned(),
        TokenSetting {
            name: name.into(),
            sha256: token.sha256(),
            role,
            owner: None,
            expires: None,
            devices: Vec::new(),
        },
    )
}

/// The settings of a simulated machine below `root` that listens on a free port.
pub fn simulated(root: &TempDir) -> Settings {
    let mut settings = Settings::default_for(&Places::below(root.path()));
    settings.board = BoardChoice::Simulated;
    settings.agent = AgentChoice::Inprocess;
    settings.http.listen.set_port(0);
    settings
}

/// `future`'s result; a hang is a failure with a place.
#[track_caller]
pub fn soon<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let place = std::panic::Location::caller();
    async move {
        tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("{place}: nothing within {PATIENCE:?}"))
    }
}
