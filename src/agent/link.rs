//! The one way the server reaches the agent, wherever the agent is.

use super::{
    Agent, Client, CommandEnd, CommandOutput, CommandRef, CommandRequest, InspectRequest, Peer, SignalRequest,
    Signalled,
    asks::{Ask, AskRequest},
    converse,
    deeds::{
        claim::{ClaimRequest, Claimed, Offered, ShownToken},
        connection::{ACTIVATION, ConfirmRequest, Confirmed, Connected, ConnectionRequest},
        enable::{EnableRequest, Enabled},
        holders::HoldersRequest,
        unit::{self, ControlRequest, Controlled},
        update::{
            HealthReport, HealthTaken, InstallRequest, MarkGoodRequest, MarkedGood, RebootIntoRequest, RollBackRequest,
            RolledBack, UpdateTool,
        },
    },
    protocol::{CancelledPower, Done, Hostname, HostnameRequest, Op, PowerAction, PowerRequest, Scheduled, Status},
    updates,
};
use crate::{
    audit::{AcceptedGap, Approval, Beginning, Checkpoint, Extension, KnownHeads, Position, RoomRequest},
    error::ToolError,
    hw::{camera::Holder, gpio::told::PinLook},
    os::{blocking, processes::detail::Detail},
    update::{
        install::{Install, Judged},
        status::{RestartPlan, UpdateStatus},
    },
};
use std::{sync::Arc, time::Duration};
use tokio::net::UnixStream;

/// What a card that is busy may take for a few small writes, each of them flushed; and commands that tell whether all is well.
const CARD: Duration = Duration::from_secs(50);

/// The server's agent. Cheap to clone.
#[derive(Clone)]
pub enum AgentLink {
    /// A process of its own, behind its socket.
    Socket(Client),
    /// In this process, before a simulated board.
    InProcess(Arc<Agent>),
    /// Could not be started here, and why: every operation says so.
    Offline(ToolError),
}

macro_rules! expect {
    ($self:ident, $op:expr, $wait:expr, $($pattern:tt)+) => {
        match $self.send($op, $wait).await? {
            $($pattern)+,
            _ => Err(ToolError::internal("the agent answered another question")),
        }
    };
}

impl AgentLink {
    /// The agent's state.
    ///
    /// # Errors
    /// `unavailable` when it does not answer; so for all that follow.
    pub async fn status(&self) -> Result<Status, ToolError> {
        expect!(self, Op::Status {}, Duration::ZERO, Done::Status(status) => Ok(*status))
    }

    /// Opens an ask, or finds the same one when it still stands.
    pub async fn open_ask(&self, request: AskRequest) -> Result<Ask, ToolError> {
        expect!(self, Op::OpenAsk(request), Duration::ZERO, Done::Ask(ask) => Ok(ask))
    }

    /// The ask once it is answered, or as it is after `wait` (at most five minutes).
    pub async fn ask_state(&self, id: &str, wait: Duration) -> Result<Ask, ToolError> {
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        expect!(self, Op::AskState { id: id.into(), wait_ms }, wait, Done::Ask(ask) => Ok(ask))
    }

    /// Takes an ask back: its caller is gone.
    pub async fn withdraw_ask(&self, id: &str) -> Result<Ask, ToolError> {
        expect!(self, Op::WithdrawAsk { id: id.into() }, Duration::ZERO, Done::Ask(ask) => Ok(ask))
    }

    /// Judges an approved ask for this very call and uses it up; a tool whose calls become a deed of the agent's
    /// leaves that to the deed. Call it right before the tool runs.
    ///
    /// # Errors
    /// `permission_denied` when it was not approved, was used, or was for another call.
    pub async fn redeem_ask(
        &self,
        id: &str,
        tool: &str,
        principal: &str,
        args_sha256: &str,
    ) -> Result<Approval, ToolError> {
        let op = Op::RedeemAsk {
            id: id.into(),
            tool: tool.into(),
            principal: principal.into(),
            args_sha256: args_sha256.into(),
        };
        expect!(self, op, Duration::ZERO, Done::Approval(approval) => Ok(approval))
    }

    /// What waits for a person.
    pub async fn list_asks(&self) -> Result<Vec<Ask>, ToolError> {
        expect!(self, Op::ListAsks {}, Duration::ZERO, Done::Asks(asks) => Ok(asks))
    }

    /// A person's answer. The agent takes it from approvers only, never from the server.
    pub async fn answer(&self, id: &str, approve: bool) -> Result<Ask, ToolError> {
        expect!(self, Op::Answer { id: id.into(), approve }, Duration::ZERO, Done::Ask(ask) => Ok(ask))
    }

    /// A person's answer that came through the MCP client `client`.
    ///
    /// # Errors
    /// `permission_denied` unless the agent's configuration lists that client.
    pub async fn answer_elicited(&self, id: &str, approve: bool, client: &str) -> Result<Ask, ToolError> {
        let op = Op::Elicited { id: id.into(), approve, client: client.into() };
        expect!(self, op, Duration::ZERO, Done::Ask(ask) => Ok(ask))
    }

    /// Schedules a reboot or shutdown.
    pub async fn power(&self, request: PowerRequest) -> Result<Scheduled, ToolError> {
        expect!(self, Op::Power(request), Duration::ZERO, Done::Power(scheduled) => Ok(scheduled))
    }

    /// Takes a scheduled reboot or shutdown back; says whether there was one.
    pub async fn cancel_power(&self, action: PowerAction) -> Result<CancelledPower, ToolError> {
        expect!(self, Op::CancelPower { action }, Duration::ZERO, Done::Cancelled(cancelled) => Ok(cancelled))
    }

    /// Names the machine.
    pub async fn set_hostname(&self, request: HostnameRequest) -> Result<Hostname, ToolError> {
        expect!(self, Op::SetHostname(request), Duration::ZERO, Done::Hostname(hostname) => Ok(hostname))
    }

    /// Sends a process a signal.
    pub async fn signal_process(&self, request: SignalRequest) -> Result<Signalled, ToolError> {
        expect!(self, Op::SignalProcess(request), Duration::ZERO, Done::Signalled(done) => Ok(done))
    }

    /// What root sees of a process.
    pub async fn inspect_process(&self, request: InspectRequest) -> Result<Detail, ToolError> {
        expect!(self, Op::InspectProcess(request), Duration::ZERO, Done::Process(detail) => Ok(*detail))
    }

    /// What the pins of a Raspberry Pi are, by their registers.
    pub async fn look_at_pins(&self) -> Result<Vec<PinLook>, ToolError> {
        expect!(self, Op::LookAtPins {}, Duration::ZERO, Done::Pins(looks) => Ok(looks))
    }

    /// Who has a camera open.
    pub async fn holders(&self, request: HoldersRequest) -> Result<Vec<Holder>, ToolError> {
        expect!(self, Op::DeviceHolders(request), Duration::ZERO, Done::Holders(holders) => Ok(holders))
    }

    /// Runs a command to its end, which is at most `limit` and some seconds away.
    pub async fn run_command(&self, request: CommandRequest, limit: Duration) -> Result<CommandEnd, ToolError> {
        // What the agent itself waits for after it told a command to end.
        const END: Duration = Duration::from_secs(15);
        expect!(self, Op::RunCommand(request), limit + END, Done::Command(end) => Ok(*end))
    }

    /// What a running command has written since the last time; waits up to `limit` for it.
    pub async fn command_output(&self, command: CommandRef, limit: Duration) -> Result<CommandOutput, ToolError> {
        expect!(self, Op::CommandOutput(command), limit, Done::Output(output) => Ok(output))
    }

    /// Ends a running command.
    pub async fn stop_command(&self, command: CommandRef) -> Result<(), ToolError> {
        expect!(self, Op::StopCommand(command), Duration::ZERO, Done::Done {} => Ok(()))
    }

    /// Starts, stops, restarts or reloads a service, and waits for its end unless told not to.
    pub async fn control_unit(&self, request: ControlRequest) -> Result<Controlled, ToolError> {
        let wait = if request.wait { unit::WAIT } else { Duration::ZERO };
        expect!(self, Op::ControlUnit(request), wait, Done::Unit(controlled) => Ok(controlled))
    }

    /// Has a service start at boot, or not.
    pub async fn enable_unit(&self, request: EnableRequest) -> Result<Enabled, ToolError> {
        // systemd reads all of its files again.
        expect!(self, Op::EnableUnit(request), Duration::from_secs(20), Done::Enabled(enabled) => Ok(enabled))
    }

    /// Activates a profile of the network; it goes back unless it is confirmed.
    pub async fn activate_connection(&self, request: ConnectionRequest) -> Result<Connected, ToolError> {
        expect!(self, Op::ActivateConnection(request), ACTIVATION * 2, Done::Connected(done) => Ok(done))
    }

    /// Confirms that, or takes it back at once.
    pub async fn confirm_connection(&self, request: ConfirmRequest) -> Result<Confirmed, ToolError> {
        expect!(self, Op::ConfirmConnection(request), ACTIVATION * 2, Done::Confirmed(done) => Ok(done))
    }

    /// The firmware's throttling word, which only root's half may ask for.
    pub async fn throttled(&self) -> Result<u32, ToolError> {
        expect!(self, Op::Throttled {}, Duration::ZERO, Done::Throttled(word) => Ok(word))
    }

    /// How far the agent has recomputed the audit chain that begins so.
    pub async fn audit_position(&self, beginning: Beginning) -> Result<Position, ToolError> {
        expect!(self, Op::AuditPosition(beginning), Duration::ZERO, Done::Position(position) => Ok(position))
    }

    /// Hands over more records for it to go on with.
    ///
    /// # Errors
    /// `conflict` when they do not follow its position.
    pub async fn extend_audit(&self, extension: Extension) -> Result<Position, ToolError> {
        expect!(self, Op::ExtendAudit(extension), Duration::ZERO, Done::Position(position) => Ok(position))
    }

    /// Has it sign which of the oldest records may go.
    pub async fn audit_room(&self, request: RoomRequest) -> Result<Checkpoint, ToolError> {
        expect!(self, Op::AuditRoom(request), Duration::ZERO, Done::Checkpoint(checkpoint) => Ok(checkpoint))
    }

    /// Accepts that a chain is missing. The agent takes it from approvers only, never from the server.
    pub async fn accept_gap(&self, chain: &str, seq: i64) -> Result<AcceptedGap, ToolError> {
        expect!(self, Op::AcceptGap { chain: chain.into(), seq }, Duration::ZERO, Done::AcceptedGap(gap) => Ok(gap))
    }

    /// What the agent knows of the audit chains.
    pub async fn heads(&self) -> Result<KnownHeads, ToolError> {
        expect!(self, Op::Heads {}, Duration::ZERO, Done::Heads(heads) => Ok(heads))
    }

    /// What is known of the slots and of an update.
    ///
    /// # Errors
    /// `capability_missing` where this machine has no slots; so for all that follow.
    pub async fn update_status(&self) -> Result<UpdateStatus, ToolError> {
        expect!(self, Op::UpdateStatus {}, CARD, Done::Update(status) => Ok(*status))
    }

    /// Has the agent judge the head of a bundle, and writes nothing.
    pub async fn judge_bundle(&self, tool: UpdateTool, head: &[u8]) -> Result<Judged, ToolError> {
        let stream = self.install(InstallRequest { tool, authorization: None, restart: RestartPlan::Waits }).await?;
        Install::begin(stream, head).await.map(|(_, judged)| judged)
    }

    /// Opens an install stream, for [`Install::begin`].
    ///
    /// # Errors
    /// `conflict` when an update is under way.
    pub async fn install(&self, request: InstallRequest) -> Result<UnixStream, ToolError> {
        let stream = match self {
            Self::Socket(client) => client.connect().await?,
            Self::InProcess(agent) => {
                let (ours, theirs) = UnixStream::pair()
                    .map_err(|error| ToolError::unavailable(format!("no pair of sockets: {error}")))?;
                tokio::spawn(converse(Arc::clone(agent), Peer::in_process(), theirs));
                ours
            }
            Self::Offline(error) => return Err(error.clone()),
        };
        updates::open(stream, request).await
    }

    /// Restarts into the slot that is armed.
    pub async fn reboot_into_update(&self, request: RebootIntoRequest) -> Result<Scheduled, ToolError> {
        expect!(self, Op::RebootIntoUpdate(request), CARD, Done::Power(scheduled) => Ok(scheduled))
    }

    /// Goes back to the other slot.
    pub async fn roll_back(&self, request: RollBackRequest) -> Result<RolledBack, ToolError> {
        expect!(self, Op::RollBack(request), CARD, Done::RolledBack(done) => Ok(done))
    }

    /// Has the running trial committed at a person's word, where the checks agree.
    pub async fn mark_good(&self, request: MarkGoodRequest) -> Result<MarkedGood, ToolError> {
        expect!(self, Op::MarkGood(request), CARD, Done::MarkedGood(done) => Ok(done))
    }

    /// Tells the server half's verdict about this boot.
    pub async fn report_health(&self, report: HealthReport) -> Result<HealthTaken, ToolError> {
        expect!(self, Op::ReportHealth(report), CARD, Done::Health(taken) => Ok(taken))
    }

    /// Arms again what is written and was not tried.
    pub async fn resume_update(&self) -> Result<UpdateStatus, ToolError> {
        expect!(self, Op::ResumeUpdate {}, CARD, Done::Update(status) => Ok(*status))
    }

    /// Starts of the simulated machine, where it is in this process.
    pub fn starts(&self) -> Option<tokio::sync::watch::Receiver<u32>> {
        match self {
            Self::InProcess(agent) => Some(agent.starts()),
            Self::Socket(_) | Self::Offline(_) => None,
        }
    }

    /// Hands over the file of a newer root of trust; returns its version.
    ///
    /// # Errors
    /// `verification_failed` when it does not follow the one the agent has.
    pub async fn trust_root(&self, root: String) -> Result<u64, ToolError> {
        expect!(self, Op::TrustRoot(root), CARD, Done::TrustedRoot(version) => Ok(version))
    }

    /// Brings a code that is to prove whose this machine is.
    ///
    /// # Errors
    /// `permission_denied` for a wrong one; `resource_exhausted` after five of them; `failed_precondition` when there is an owner.
    pub async fn claim(&self, request: ClaimRequest) -> Result<Offered, ToolError> {
        expect!(self, Op::Claim(request), CARD, Done::Offered(offered) => Ok(offered))
    }

    /// Shows the token that answered it: from then on it counts.
    pub async fn confirm_claim(&self, shown: ShownToken) -> Result<Claimed, ToolError> {
        expect!(self, Op::ConfirmClaim(shown), CARD, Done::Claimed(claimed) => Ok(claimed))
    }

    async fn send(&self, op: Op, wait: Duration) -> Result<Done, ToolError> {
        if op.is_deed() {
            blocking::go_on(op.name())?;
        }
        match self {
            Self::Socket(client) => client.request(op, wait).await,
            Self::InProcess(agent) => agent.handle(&Peer::in_process(), op).await,
            Self::Offline(error) => Err(error.clone()),
        }
    }
}
