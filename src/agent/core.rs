//! The agent itself: takes an operation from a peer, judges it, does it, writes it down.

use super::{
    Clock,
    asks::{AskState, Asks, BoundCall},
    button::{Button, Grip},
    connections::Connections,
    deeds::{
        claim::{BootClock, Claims, boot_clock},
        exec::{Commands, open_to_others},
        pins::Header,
        update::{Admissions, Boot},
    },
    exec::{self, Runner, SimulatedRunner},
    files,
    heads::Heads,
    log::{ATTEMPTS, OpLog, REFUSALS},
    machine::{Machine, RealMachine, SimulatedMachine},
    network::{Network, RealNetwork, SimulatedNetwork},
    peer::Peer,
    policy::AgentPolicy,
    power::Power,
    processes::{Processes, RealProcesses, SimulatedProcesses},
    protocol::{CancelledPower, Done, MAX_WAIT_MS, Op, PROTOCOL, PowerAction, Status},
    settings::AgentSettings,
    system_clock,
    units::{RealUnits, SimulatedUnits, Units},
    updates::{Port as UpdatePort, Updates},
};
use crate::{
    error::{ErrorCode, ToolError},
    hw::{
        board::Board,
        gpio::header,
        line::{Fault, Port},
    },
    os::{Root, bus::Bus, lock::Lock},
    watched::Watched,
};
use serde_json::json;
use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

/// What the agent reaches outside itself: one port for each kind of thing it can do.
pub struct World {
    pub clock: Clock,
    /// Time since power-on.
    pub boot_clock: BootClock,
    pub machine: Arc<dyn Machine>,
    pub runner: Arc<dyn Runner>,
    pub processes: Arc<dyn Processes>,
    pub units: Arc<dyn Units>,
    pub network: Arc<dyn Network>,
    /// The registers of the header, to be looked at.
    pub header: Header,
    /// The lines of the header, for an approval button; `None` where there is none.
    pub gpio: Option<Result<Arc<dyn Port>, Fault>>,
    /// The card and its boot chain, where there are two slots.
    pub update: UpdatePort,
}

impl World {
    /// That machine and clock, and every other port to go with them: simulated ones where the machine is.
    pub fn new(clock: Clock, machine: Arc<dyn Machine>) -> Self {
        let runner: Arc<dyn Runner> =
            if machine.is_simulated() { Arc::new(SimulatedRunner) } else { exec::of_machine(&Root::system()) };
        let processes: Arc<dyn Processes> = if machine.is_simulated() {
            Arc::new(SimulatedProcesses::default())
        } else {
            Arc::new(RealProcesses { root: Root::system() })
        };
        let units: Arc<dyn Units> = if machine.is_simulated() {
            Arc::new(SimulatedUnits::default())
        } else {
            Arc::new(RealUnits::new(Bus::system(), Root::system()))
        };
        let network: Arc<dyn Network> = if machine.is_simulated() {
            Arc::new(SimulatedNetwork::default())
        } else {
            Arc::new(RealNetwork { bus: Bus::system() })
        };
        Self {
            clock,
            boot_clock: boot_clock(),
            machine,
            runner,
            processes,
            units,
            network,
            header: Header::default(),
            gpio: None,
            update: UpdatePort::none(),
        }
    }

    /// The machine `settings` speak of with that board, and its clock.
    pub fn of(settings: &AgentSettings, board: &Board) -> Self {
        let machine: Arc<dyn Machine> = if settings.simulated {
            Arc::new(SimulatedMachine::on(&settings.root))
        } else {
            Arc::new(RealMachine { root: settings.root.clone(), bus: Bus::system() })
        };
        // Without a button it opens no device.
        let button = settings.approval.button();
        let gpio = button.map(|_| header::lines(&settings.root, &board.pins(), &settings.gpio_chip));
        let update = UpdatePort::of(settings);
        Self { gpio, update, header: Header::of(board), ..Self::new(system_clock(), machine) }
    }
}

/// The privileged half.
pub struct Agent {
    pub(super) settings: AgentSettings,
    policy: Watched<AgentPolicy>,
    pub(super) clock: Clock,
    pub(super) asks: Asks,
    pub(super) machine: Arc<dyn Machine>,
    pub(super) power: Power,
    pub(super) runner: Arc<dyn Runner>,
    pub(super) commands: Commands,
    pub(super) processes: Arc<dyn Processes>,
    pub(super) units: Arc<dyn Units>,
    pub(super) connections: Connections,
    pub(super) heads: Heads,
    pub(super) log: Arc<OpLog>,
    started_ms: i64,
    pub(super) simulated: bool,
    faults: Vec<String>,
    pub(super) header: Header,
    pub(super) updates: Updates,
    pub(super) admissions: Admissions,
    pub(super) boot: Boot,
    pub(super) claims: Claims,
    button: OnceLock<Grip>,
    /// Held as long as the agent lives: one agent a folder.
    _lock: Lock,
}

impl Agent {
    /// Reads what the agent before left and goes on from there. Must be called inside the runtime.
    ///
    /// # Errors
    /// `unavailable` when its folder cannot be used, `conflict` when another agent uses it.
    pub fn start(settings: AgentSettings, world: World) -> Result<Arc<Self>, ToolError> {
        let World { clock, boot_clock, machine, runner, processes, units, network, header, gpio, update } = world;
        let folder = settings.state_dir.as_path();
        files::make_folder(folder)?;
        let lock = files::lock(folder)?;
        let mut faults = Vec::new();
        let simulated = machine.is_simulated();
        if !runner.is_simulated() {
            faults.extend(open_to_others(&settings.exec));
        }
        let button = Button::take(&settings, gpio, &mut faults);
        let per_hour = settings.policy.reboots_per_hour;
        let updates = Updates::start(&settings, update, Arc::clone(&clock), &mut faults);
        let policy = {
            let (reload, start) = (settings.reload.clone(), settings.policy.clone());
            let make = move |_: &[PathBuf]| reload.read().map(|settings| start.renewed(&settings));
            Watched::after(settings.policy.clone(), settings.reload.files.clone(), make)
        };
        let agent = Self {
            policy,
            asks: Asks::load(folder, &clock, &boot_clock, settings.policy.ask_expiry, &mut faults),
            power: Power::load(folder, Arc::clone(&clock), Arc::clone(&machine), per_hour, &mut faults)?,
            machine,
            runner,
            commands: Commands::default(),
            processes,
            units,
            connections: Connections::load(folder, Arc::clone(&clock), network, &mut faults)?,
            heads: Heads::load(folder, Arc::clone(&clock), settings.audit_max_bytes, settings.simulated)?,
            log: Arc::new(OpLog::new(folder, Arc::clone(&clock))),
            claims: Claims::new(settings.identity.clone(), boot_clock),
            updates,
            admissions: Admissions::load(folder, Arc::clone(&clock), &mut faults)?,
            boot: Boot::default(),
            started_ms: clock(),
            simulated,
            clock,
            faults,
            header,
            button: OnceLock::new(),
            _lock: lock,
            settings,
        };
        for fault in &agent.faults {
            tracing::error!(target: "agent", fault, "found at start");
        }
        let agent = Arc::new(agent);
        if let Some(button) = button {
            agent.button.get_or_init(|| button.watch(&agent));
        }
        if let Ok(system) = agent.updates.system() {
            system.belongs_to(Arc::downgrade(&agent));
            agent.power.tell(system);
            agent.begin_boot();
            agent.watch_plan();
            let system = agent.updates.system()?;
            agent.tell_settings(&system);
        }
        Ok(agent)
    }

    pub fn settings(&self) -> &AgentSettings {
        &self.settings
    }

    /// The policy as the configuration has it now.
    pub(super) fn policy(&self) -> Arc<AgentPolicy> {
        self.policy.get()
    }

    /// Does `op` for `peer`.
    ///
    /// # Errors
    /// Those of the operation; `permission_denied` when `peer` may not ask for it.
    pub async fn handle(&self, peer: &Peer, op: Op) -> Result<Done, ToolError> {
        if let Err(error) = peer.may(&op) {
            self.log.attempt("refused", peer, REFUSALS, || json!({ "operation": op.name(), "reason": error.message }));
            return Err(error);
        }
        match op {
            Op::Hello { protocol, .. } => hello(protocol),
            Op::Status {} => Ok(Done::Status(self.status().into())),
            Op::OpenAsk(request) => {
                // Nobody is asked for what the agent would refuse anyway.
                self.policy().check_ask(&request.tool, &request.args)?;
                if PowerAction::ALL.iter().any(|action| action.tool() == request.tool) {
                    self.power.check()?;
                }
                let (ask, new) = self.asks.open(request)?;
                if new {
                    self.log.attempt("ask opened", peer, ATTEMPTS, || self.about_ask(&ask));
                }
                Ok(Done::Ask(ask))
            }
            Op::AskState { id, wait_ms } => {
                let wait = Duration::from_millis(wait_ms.min(MAX_WAIT_MS));
                Ok(Done::Ask(self.asks.wait(&id, wait).await?))
            }
            Op::WithdrawAsk { id } => {
                let ask = self.asks.withdraw(&id)?;
                self.log.attempt("ask withdrawn", peer, ATTEMPTS, || self.about_ask(&ask));
                Ok(Done::Ask(ask))
            }
            Op::RedeemAsk { id, tool, principal, args_sha256 } => {
                let call = BoundCall { tool: &tool, principal: &principal, args_sha256: &args_sha256 };
                // The agent's own operations redeem theirs when they are done.
                let (ask, approval) = self.asks.redeem(&id, &call, !AgentPolicy::is_deed(&tool))?;
                if ask.state == AskState::Consumed {
                    self.note_ask("ask used", peer, &ask)?;
                }
                Ok(Done::Approval(approval))
            }
            Op::ListAsks {} => Ok(Done::Asks(self.asks.pending())),
            Op::Answer { id, approve } => {
                let ask = self.asks.answer(&id, approve, &peer.name, peer.how())?;
                self.note_ask("ask answered", peer, &ask)?;
                Ok(Done::Ask(ask))
            }
            Op::Elicited { id, approve, client } => {
                self.policy().check_elicitation(&client)?;
                let asked = self.asks.wait(&id, Duration::ZERO).await?;
                let how = format!("elicitation by {client}");
                let by = &asked.request.principal;
                let ask = match asked.state {
                    AskState::Approved if !approve => self.asks.take_back(&id, by, &how)?,
                    _ => self.asks.answer(&id, approve, by, &how)?,
                };
                self.note_ask("ask answered", peer, &ask)?;
                Ok(Done::Ask(ask))
            }
            Op::Power(request) => {
                let result = self.go_down(peer, request.clone());
                self.note_done(request.action.name(), peer, json!(request), result.as_ref().err())?;
                result.map(Done::Power)
            }
            Op::CancelPower { action } => {
                let cancelled = self.power.cancel(action)?;
                let about = json!({ "action": action, "cancelled": cancelled });
                if cancelled {
                    self.log.write("cancel", peer, about)?;
                } else {
                    self.log.attempt("cancel", peer, ATTEMPTS, || about);
                }
                Ok(Done::Cancelled(CancelledPower { cancelled, simulated: self.simulated }))
            }
            Op::SetHostname(request) => {
                let result = self.set_hostname(peer, &request).await;
                self.note_done("set_hostname", peer, json!(request), result.as_ref().err())?;
                result.map(Done::Hostname)
            }
            Op::RunCommand(request) => self.run_command(peer, &request).await.map(|end| Done::Command(Box::new(end))),
            Op::CommandOutput(command) => self.command_output(&command).await.map(Done::Output),
            Op::StopCommand(command) => self.stop_command(&command).map(|()| Done::Done {}),
            Op::SignalProcess(request) => {
                let result = self.signal_process(peer, &request);
                self.note_done("send_signal", peer, json!(request), result.as_ref().err())?;
                result.map(Done::Signalled)
            }
            Op::InspectProcess(request) => self.inspect_process(request).map(Box::new).map(Done::Process),
            Op::DeviceHolders(request) => self.holders(&request).map(Done::Holders),
            Op::LookAtPins {} => self.look_at_pins().map(Done::Pins),
            Op::ControlUnit(request) => {
                let result = self.control_unit(peer, &request).await;
                self.note_done("control_unit", peer, json!(request), result.as_ref().err())?;
                result.map(Done::Unit)
            }
            Op::EnableUnit(request) => {
                let result = self.enable_unit(peer, &request).await;
                self.note_done("enable_unit", peer, json!(request), result.as_ref().err())?;
                result.map(Done::Enabled)
            }
            Op::ActivateConnection(request) => {
                let result = self.activate_connection(peer, &request).await;
                self.note_done("activate_connection", peer, json!(request), result.as_ref().err())?;
                result.map(Done::Connected)
            }
            Op::ConfirmConnection(request) => {
                let result = self.confirm_connection(peer, &request).await;
                self.note_done("confirm_connection", peer, json!(request), result.as_ref().err())?;
                result.map(Done::Confirmed)
            }
            Op::Throttled {} => self.throttled().await.map(Done::Throttled),
            Op::Claim(request) => self.claim(peer, request).await.map(Done::Offered),
            Op::ConfirmClaim(shown) => self.confirm_claim(peer, shown).await.map(Done::Claimed),
            op @ (Op::AuditPosition(_)
            | Op::ExtendAudit(_)
            | Op::AuditRoom(_)
            | Op::AcceptGap { .. }
            | Op::Heads {}) => self.handle_audit(peer, op),
            op => self.handle_update(peer, op).await,
        }
    }

    fn status(&self) -> Status {
        Status {
            version: env!("CARGO_PKG_VERSION").into(),
            protocol: PROTOCOL,
            simulated: self.simulated,
            started_ms: self.started_ms,
            pending_asks: self.asks.pending().len(),
            power: self.power.pending(),
            last_power: self.power.last(),
            network_change: self.connections.shown().map(Into::into),
            audit_head: self.heads.last(),
            faults: {
                let now = self.button.get().and_then(Grip::trouble).into_iter().chain(self.policy.fault());
                self.faults.iter().cloned().chain(now).collect()
            },
            places: Some(self.settings.places.clone()),
        }
    }

    /// Whether this agent answers to nobody but its own user, before a simulated board.
    pub fn is_simulated(&self) -> bool {
        self.simulated
    }
}

fn hello(protocol: u32) -> Result<Done, ToolError> {
    if protocol == PROTOCOL {
        return Ok(Done::Hello { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").into() });
    }
    Err(ToolError::new(
        ErrorCode::FailedPrecondition,
        format!("this agent speaks protocol {PROTOCOL}, the caller {protocol}"),
    )
    .with("agent_protocol", PROTOCOL)
    .with("caller_protocol", protocol)
    .with("agent_version", env!("CARGO_PKG_VERSION"))
    .hint("both halves come from one package: restart the one that is still the old version"))
}
