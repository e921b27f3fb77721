//! The one way the server reaches the agent, wherever the agent is.

use super::{
    Agent, Client, CommandEnd, CommandOutput, CommandRef, CommandRequest, InspectRequest, Peer, SignalRequest,
    Signalled,
    asks::{Ask, AskRequest},
    deeds::{
        connection::{ACTIVATION, ConfirmRequest, Confirmed, Connected, ConnectionRequest},
        enable::{EnableRequest, Enabled},
        holders::HoldersRequest,
        unit::{self, ControlRequest, Controlled},
    },
    protocol::{CancelledPower, Done, Hostname, HostnameRequest, Op, PowerAction, PowerRequest, Scheduled, Status},
};
use crate::{
    access::audit::{Approval, Head, KnownHeads},
    error::ToolError,
    hw::{camera::Holder, gpio::told::PinLook},
    os::processes::detail::Detail,
};
use std::{sync::Arc, time::Duration};

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
        expect!(self, Op::Status {}, Duration::ZERO, Done::Status(status) => Ok(status))
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

    /// Gives the end of the audit chain into the agent's keeping.
    pub async fn record_head(&self, head: Head) -> Result<(), ToolError> {
        expect!(self, Op::RecordHead(head), Duration::ZERO, Done::Done {} => Ok(()))
    }

    /// The ends of the audit chain the agent has seen.
    pub async fn heads(&self) -> Result<KnownHeads, ToolError> {
        expect!(self, Op::Heads {}, Duration::ZERO, Done::Heads(heads) => Ok(heads))
    }

    async fn send(&self, op: Op, wait: Duration) -> Result<Done, ToolError> {
        match self {
            Self::Socket(client) => client.request(op, wait).await,
            Self::InProcess(agent) => agent.handle(&Peer::in_process(), op).await,
            Self::Offline(error) => Err(error.clone()),
        }
    }
}
