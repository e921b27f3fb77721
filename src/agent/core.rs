//! The agent itself: takes an operation from a peer, judges it, does it, writes it down.

use super::{
    Clock,
    asks::{Ask, AskState, Asks, BoundCall},
    files,
    heads::Heads,
    log::OpLog,
    machine::{Machine, RealMachine, SimulatedMachine},
    peer::{Peer, Standing},
    policy::AGENT_TOOLS,
    power::Power,
    protocol::{CancelledReboot, Done, MAX_WAIT_MS, Op, PROTOCOL, RebootRequest, ScheduledReboot, Status},
    settings::AgentSettings,
    system_clock,
};
use crate::{
    access::redact,
    error::{ErrorCode, ToolError},
    registry::meta::Mode,
};
use serde_json::{Value, json};
use std::{fs::File, sync::Arc, time::Duration};

/// What the agent reaches outside itself.
pub struct World {
    pub clock: Clock,
    pub machine: Arc<dyn Machine>,
}

impl World {
    /// The machine `settings` speak of, and its clock.
    pub fn of(settings: &AgentSettings) -> Self {
        let machine: Arc<dyn Machine> = if settings.simulated {
            Arc::new(SimulatedMachine::on(&settings.root))
        } else {
            Arc::new(RealMachine { root: settings.root.clone() })
        };
        Self { clock: system_clock(), machine }
    }
}

/// The privileged half.
pub struct Agent {
    settings: AgentSettings,
    clock: Clock,
    asks: Asks,
    power: Power,
    heads: Heads,
    log: OpLog,
    started_ms: i64,
    simulated: bool,
    faults: Vec<String>,
    /// Held as long as the agent lives: one agent a folder.
    _lock: File,
}

impl Agent {
    /// Reads what the agent before left and goes on from there. Must be called inside the runtime.
    ///
    /// # Errors
    /// `unavailable` when its folder cannot be used, `conflict` when another agent uses it.
    pub fn start(settings: AgentSettings, world: World) -> Result<Arc<Self>, ToolError> {
        let World { clock, machine } = world;
        let folder = settings.state_dir.as_path();
        files::make_folder(folder)?;
        let lock = files::lock(folder)?;
        let mut faults = Vec::new();
        let simulated = machine.is_simulated();
        let per_hour = settings.policy.reboots_per_hour;
        let agent = Self {
            asks: Asks::load(folder, Arc::clone(&clock), settings.policy.ask_expiry, &mut faults),
            power: Power::load(folder, Arc::clone(&clock), machine, per_hour, &mut faults)?,
            heads: Heads::load(folder, Arc::clone(&clock))?,
            log: OpLog::new(folder, Arc::clone(&clock)),
            started_ms: clock(),
            simulated,
            clock,
            faults,
            _lock: lock,
            settings,
        };
        for fault in &agent.faults {
            tracing::error!(target: "agent", fault, "found at start");
        }
        Ok(Arc::new(agent))
    }

    pub fn settings(&self) -> &AgentSettings {
        &self.settings
    }

    /// Does `op` for `peer`.
    ///
    /// # Errors
    /// Those of the operation; `permission_denied` when `peer` may not ask for it.
    pub async fn handle(&self, peer: &Peer, op: Op) -> Result<Done, ToolError> {
        if let Err(error) = peer.may(&op) {
            self.log.write("refused", peer, json!({ "operation": op.name(), "reason": error.message }))?;
            return Err(error);
        }
        match op {
            Op::Hello { protocol, .. } => hello(protocol),
            Op::Status {} => Ok(Done::Status(self.status())),
            Op::OpenAsk(request) => {
                if AGENT_TOOLS.contains(&request.tool.as_str()) {
                    // Nobody is asked for what the agent would refuse anyway.
                    self.settings.policy.check(&request.tool)?;
                }
                let (ask, new) = self.asks.open(request)?;
                if new {
                    self.note_ask("ask opened", peer, &ask)?;
                }
                Ok(Done::Ask(ask))
            }
            Op::AskState { id, wait_ms } => {
                let wait = Duration::from_millis(wait_ms.min(MAX_WAIT_MS));
                Ok(Done::Ask(self.asks.wait(&id, wait).await?))
            }
            Op::WithdrawAsk { id } => {
                let ask = self.asks.withdraw(&id)?;
                self.note_ask("ask withdrawn", peer, &ask)?;
                Ok(Done::Ask(ask))
            }
            Op::RedeemAsk { id, tool, principal, args_sha256 } => {
                let call = BoundCall { tool: &tool, principal: &principal, args_sha256: &args_sha256 };
                // The agent's own operations redeem theirs when they are done.
                let (ask, approval) = self.asks.redeem(&id, &call, !AGENT_TOOLS.contains(&tool.as_str()))?;
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
                self.settings.policy.check_elicitation(&client)?;
                let asked = self.asks.wait(&id, Duration::ZERO).await?;
                let how = format!("elicitation by {client}");
                let ask = self.asks.answer(&id, approve, &asked.request.principal, &how)?;
                self.note_ask("ask answered", peer, &ask)?;
                Ok(Done::Ask(ask))
            }
            Op::Reboot(request) => {
                let result = self.reboot(peer, request.clone());
                let outcome = result.as_ref().err().map_or("ok", |error| error.code.symbol());
                self.log.write("reboot", peer, json!({ "request": request, "outcome": outcome }))?;
                result.map(Done::Reboot)
            }
            Op::CancelReboot {} => {
                let cancelled = self.power.cancel()?;
                self.log.write("cancel_reboot", peer, json!({ "cancelled": cancelled }))?;
                Ok(Done::Cancelled(CancelledReboot { cancelled, simulated: self.simulated }))
            }
            Op::RecordHead(head) => {
                let (chain, seq) = (head.chain.clone(), head.seq);
                match self.heads.record(head) {
                    Ok(false) => {}
                    Ok(true) => self.log.write("audit chain begins", peer, json!({ "chain": chain, "seq": seq }))?,
                    Err(error) => {
                        self.log.write(
                            "audit head refused",
                            peer,
                            json!({ "chain": chain, "reason": error.message }),
                        )?;
                        return Err(error);
                    }
                }
                Ok(Done::Done {})
            }
            Op::Heads {} => Ok(Done::Heads(self.heads.known()?)),
        }
    }

    fn reboot(&self, peer: &Peer, request: RebootRequest) -> Result<ScheduledReboot, ToolError> {
        const TOOL: &str = "system.reboot";
        if request.tool != TOOL {
            return Err(ToolError::denied(format!("{} is not a tool that may restart the machine", request.tool)));
        }
        let mode = self.settings.policy.check(TOOL)?;
        self.power.check()?;
        if mode == Mode::Ask {
            let id = request.ask_id.as_deref().ok_or_else(|| {
                ToolError::denied("the agent's policy wants a person to approve system.reboot")
                    .with("tool", TOOL)
                    .hint("the server has to ask first; its policy may be wider than the agent's")
            })?;
            let call = BoundCall { tool: TOOL, principal: &request.principal, args_sha256: &request.args_sha256 };
            let (ask, _) = self.asks.redeem(id, &call, false)?;
            shown_is_done(&ask, &request)?;
            // Used up before the act: after a power cut in between, a person is asked again.
            let (ask, _) = self.asks.redeem(id, &call, true)?;
            self.note_ask("ask used", peer, &ask)?;
        }
        self.power.schedule(request.delay_seconds, request.reason, request.principal)
    }

    fn status(&self) -> Status {
        Status {
            version: env!("CARGO_PKG_VERSION").into(),
            protocol: PROTOCOL,
            simulated: self.simulated,
            started_ms: self.started_ms,
            pending_asks: self.asks.pending().len(),
            reboot: self.power.pending(),
            last_reboot: self.power.last(),
            audit_head: self.heads.last(),
            faults: self.faults.clone(),
        }
    }

    fn note_ask(&self, what: &str, peer: &Peer, ask: &Ask) -> Result<(), ToolError> {
        self.log.write(
            what,
            peer,
            json!({
                "ask_id": ask.id, "tool": ask.request.tool, "principal": ask.request.principal,
                "args_sha256": ask.request.args_sha256, "state": ask.state, "by": ask.by, "how": ask.how,
                "age_ms": (self.clock)() - ask.created_ms,
            }),
        )
    }

    /// Whether this agent answers to nobody but its own user, before a simulated board.
    pub fn is_simulated(&self) -> bool {
        self.simulated
    }

    /// Judges a peer of the socket.
    ///
    /// # Errors
    /// As [`Peer::judge`]; the refusal is in the log.
    pub(super) fn judge(&self, uid: u32, gid: u32, pid: Option<i32>) -> Result<Peer, ToolError> {
        Peer::judge(&self.settings, uid, gid, pid).inspect_err(|error| {
            let stranger = Peer { uid, name: "stranger".into(), standing: Standing::Server };
            if let Err(error) = self.log.write("peer refused", &stranger, json!({ "reason": error.message })) {
                tracing::error!(target: "agent", %error, "log");
            }
        })
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

/// The person approved what they were shown; the agent does exactly that, whatever hash the server named.
fn shown_is_done(ask: &Ask, request: &RebootRequest) -> Result<(), ToolError> {
    let args = &ask.request.args;
    let delay = args.get("delay_seconds").map_or(Some(5), Value::as_u64);
    let reason = request.reason.as_ref().map(|reason| redact::redact(&json!(reason)));
    let same = delay == Some(u64::from(request.delay_seconds))
        && args.get("reason").filter(|reason| !reason.is_null()) == reason.as_ref()
        && args.get("cancel").and_then(Value::as_bool) != Some(true);
    if same {
        return Ok(());
    }
    Err(ToolError::denied(format!("ask {} showed the person something else than this reboot", ask.id))
        .with("ask_id", ask.id.clone())
        .with("differs", "arguments"))
}
