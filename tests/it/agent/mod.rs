//! The privileged half. Each file is one conversation partner of it.

mod any;
mod asks;
mod button;
mod calls;
mod connection;
mod connections;
pub mod doors;
mod edits;
mod exec;
mod firmware;
mod halt;
mod heads;
mod holders;
mod hostname;
mod interrupted;
mod log_tail;
mod oracle;
mod power;
mod private;
mod rescue;
mod rewritten;
mod routeros;
mod signed;
mod socket;
mod sql_json;
mod timezone;
mod units;
pub mod update;
mod wire;

use ::agent::operations as op;
use ::agent::{
    Agent, AgentLink, AgentPolicy, AgentSettings, Ask, AskRequest, Authorization, BootClock, CardPort, Clock,
    Operation, Peer, PeerKind, Platform, PowerAction,
    machine::SimulatedMachine,
    units::{SimulatedUnits, Units},
};
use ::hw::{gpio::SimulatedGpio, line::GpioPort};
use appliance::Folder;
use base::{canonical, error::ToolError, os::Root};
use contract::{
    audit::ApprovalRecord,
    config::{Places, UpdateSettings, key::Section},
};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};
use tempfile::{TempDir, tempdir};

/// A machine with an agent on it, a clock that moves when told, and a folder that outlives the agent.
pub struct Pi {
    dir: TempDir,
    now_ms: Arc<AtomicI64>,
    /// How far the wall's clock was set away from the time that passed.
    set_ms: Arc<AtomicI64>,
    machine: Arc<SimulatedMachine>,
    /// Those of the simulated machine, unless a test brings others.
    units: Arc<dyn Units>,
    /// The lines of its header.
    pub gpio: SimulatedGpio,
    pub settings: AgentSettings,
    /// Its card, if it has two slots.
    update: CardPort,
    agent: Option<Arc<Agent>>,
}

/// The start of every test's time.
const NOON: i64 = 1_700_000_000_000;

impl Pi {
    /// Enabled for system.*, which asks.
    fn new() -> Self {
        Self::with(|_| {})
    }

    /// One whose clock shows this very moment, and stands.
    pub fn now() -> Self {
        let pi = Self::new();
        pi.now_ms.store(agent::system_clock()(), Ordering::SeqCst);
        pi
    }

    pub fn settings_in(dir: &std::path::Path) -> AgentSettings {
        let mut policy = AgentPolicy::default();
        policy.namespaces.extend(["system".into(), "service".into()]);
        policy.services = vec!["*.service".into()];
        AgentSettings {
            state_dir: dir.join("agent"),
            socket: dir.join("run/agent.sock"),
            places: contract::config::PlaceSettings {
                state_dir: dir.join("state"),
                runtime_dir: dir.join("run"),
                agent_state_dir: dir.join("agent"),
                agent_socket: dir.join("run/agent.sock"),
            },
            environment: contract::meta::Environment::Prod,
            server_uid: None,
            approval_page_uid: None,
            routers_uid: None,
            routers: Vec::new(),
            approver_group: "raspi-mcp-approver".into(),
            simulated: true,
            policy,
            reload: Default::default(),
            site: None,
            exec: Default::default(),
            agents: Vec::new(),
            protected_processes: Vec::new(),
            server_places: Vec::new(),
            approval: Default::default(),
            gpio_chip: String::new(),
            update: UpdateSettings::default_for(&Places { state_dir: dir.join("state"), ..Places::system() }),
            fleet: contract::config::sections::FleetSettings::default_for(&Places::system()),
            audit_max_bytes: 64 << 20,
            server_socket: None,
            identity: Folder::at(dir.join("run/raspi-mcp-identity")),
            claim_window: Duration::from_secs(900),
            root: Root::at(dir),
        }
    }

    fn with(change: impl FnOnce(&mut AgentSettings)) -> Self {
        Self::with_units(Arc::new(SimulatedUnits::default()), change)
    }

    fn with_units(units: Arc<dyn Units>, change: impl FnOnce(&mut AgentSettings)) -> Self {
        let dir = tempdir().unwrap();
        let mut settings = Self::settings_in(dir.path());
        change(&mut settings);
        let mut pi = Self {
            dir,
            now_ms: Arc::new(AtomicI64::new(NOON)),
            set_ms: Arc::default(),
            machine: Arc::new(SimulatedMachine::new("first boot")),
            units,
            gpio: SimulatedGpio::default(),
            settings,
            update: CardPort::none(),
            agent: None,
        };
        pi.start();
        pi
    }

    pub fn start(&mut self) {
        self.agent = None;
        let (now_ms, set_ms) = (Arc::clone(&self.now_ms), Arc::clone(&self.set_ms));
        let passed = Arc::clone(&now_ms);
        let clock: Clock = Arc::new(move || now_ms.load(Ordering::SeqCst) + set_ms.load(Ordering::SeqCst));
        let boot_clock: BootClock =
            Arc::new(move || Duration::from_millis(passed.load(Ordering::SeqCst).unsigned_abs()));
        let gpio = self.settings.approval.button().map(|_| Ok(Arc::new(self.gpio.clone()) as Arc<dyn GpioPort>));
        let update = self.update.clone();
        let platform = Platform {
            units: Arc::clone(&self.units),
            gpio,
            update,
            boot_clock,
            ..Platform::new(clock, Arc::clone(&self.machine) as _)
        };
        self.agent = Some(Agent::start(self.settings.clone(), platform).unwrap());
    }

    /// The agent's process ends and begins again; timers of the old one die with it.
    fn restart_agent(&mut self) {
        self.start();
    }

    /// The same once nothing holds the old one any more, and so its files.
    async fn restarted_agent(&mut self) {
        let agent = Arc::downgrade(&self.agent());
        self.agent = None;
        while agent.strong_count() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.start();
    }

    fn restart_machine(&mut self) {
        self.machine = Arc::new(SimulatedMachine::new("second boot"));
        self.start();
    }

    pub fn agent(&self) -> Arc<Agent> {
        Arc::clone(self.agent.as_ref().unwrap())
    }

    pub fn server(&self) -> AgentLink {
        AgentLink::InProcess(self.agent())
    }

    /// Moves both clocks: the wall's and the timers'.
    async fn pass(&self, seconds: u64) {
        self.now_ms.fetch_add(seconds as i64 * 1000, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    async fn person<O: Operation>(&self, request: O::Request) -> Result<O::Answer, ToolError> {
        let person = Peer { uid: 1000, name: "pi".into(), standing: PeerKind::Approver };
        self.agent().perform::<O>(&person, request).await
    }

    async fn says(&self, ask: &Ask, approve: bool) -> Result<Ask, ToolError> {
        self.person::<op::asks::AnswerAsk>(op::asks::AnswerRequest { id: ask.id.clone(), approve }).await
    }

    fn log(&self) -> String {
        ["operations", "attempts"].map(|name| self.log_of(name)).concat()
    }

    fn log_of(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(format!("agent/{name}.ndjson"))).unwrap_or_default()
    }
}

pub fn ask(tool: &str, args: Value) -> AskRequest {
    AskRequest {
        marks: Default::default(),
        tool: tool.into(),
        summary: format!("run {tool}"),
        args_sha256: canonical::sha256_hex(&args),
        args,
        principal: "token:fleet".into(),
        ..Default::default()
    }
}

/// The reboot that the call with these arguments asks for.
fn reboot(args: &Value, ask_id: Option<&str>) -> op::power::PowerRequest {
    op::power::PowerRequest {
        action: PowerAction::Reboot,
        delay_seconds: args["delay_seconds"].as_u64().unwrap_or(5) as u32,
        reason: args["reason"].as_str().map(str::to_owned),
        authorization: authorization(args, ask_id),
    }
}

/// What goes with the deed of a call with these arguments.
pub fn authorization(args: &Value, ask_id: Option<&str>) -> Authorization {
    Authorization {
        principal: "token:fleet".into(),
        args_sha256: canonical::sha256_hex(args),
        ask_id: ask_id.map(str::to_owned),
    }
}

/// Uses an approval up, as the server does before it runs a tool of its own.
async fn redeem(server: &AgentLink, id: &str, call: &AskRequest) -> Result<ApprovalRecord, ToolError> {
    let AskRequest { tool, principal, args_sha256, .. } = call.clone();
    let request = op::asks::RedeemRequest { id: id.to_owned(), tool, principal, args_sha256 };
    server.call::<op::asks::RedeemAsk>(request).await
}

fn kernel_update() -> Value {
    json!({"reason": "kernel update", "delay_seconds": 60})
}
