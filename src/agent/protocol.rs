//! What travels between the halves: one JSON object a line, at most 128 KiB, versioned.
//!
//! A request is `{"id": 7, "op": {"power": {...}}}`, its answer `{"id": 7, "ok": {...}}` or `{"id": 7, "error":
//! {...}}`. The first request of a connection is `hello`; without it, or with another protocol, nothing else is done.
//! Answers come in the order they are ready, so a long wait holds nothing up.

pub use super::status::Status;

use super::{
    asks::{Ask, AskRequest},
    authorization::Authorization,
    deeds::{
        claim::{ClaimRequest, Claimed, Offered, ShownToken},
        connection::{ConfirmRequest, Confirmed, Connected, ConnectionRequest},
        enable::{EnableRequest, Enabled},
        exec::{CommandEnd, CommandOutput, CommandRef, CommandRequest},
        holders::HoldersRequest,
        process::{InspectRequest, SignalRequest, Signalled},
        unit::{ControlRequest, Controlled},
        update::{
            HealthReport, HealthTaken, InstallRequest, MarkGoodRequest, MarkedGood, RebootIntoRequest, RollBackRequest,
            RolledBack,
        },
    },
};
use crate::{
    audit::{AcceptedGap, Approval, Beginning, Checkpoint, Extension, KnownHeads, Position, RoomRequest},
    error::{ToolError, WireError},
    hw::{camera::Holder, gpio::told::PinLook},
    os::processes::detail::Detail,
    update::status::UpdateStatus,
};
use serde::{Deserialize, Serialize};

/// Raised by any change that an older half would misunderstand.
pub const PROTOCOL: u32 = 1;
/// Longest line, in bytes: the arguments of an ask (`access::question::ALL_BYTES`) are bounded well below it.
pub const MAX_LINE: usize = 128 * 1024;
/// Longest wait one `ask_state` may ask for.
pub const MAX_WAIT_MS: u64 = 300_000;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub id: u64,
    pub op: Op,
}

/// The whole list of what the agent can be asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Op {
    Hello {
        protocol: u32,
        version: String,
    },
    Status {},
    OpenAsk(AskRequest),
    AskState {
        id: String,
        wait_ms: u64,
    },
    WithdrawAsk {
        id: String,
    },
    RedeemAsk {
        id: String,
        tool: String,
        principal: String,
        args_sha256: String,
    },
    ListAsks {},
    Answer {
        id: String,
        approve: bool,
    },
    /// A person's answer through the MCP client `client`; only for clients that the agent's own configuration lists.
    Elicited {
        id: String,
        approve: bool,
        client: String,
    },
    Power(PowerRequest),
    CancelPower {
        action: PowerAction,
    },
    SetHostname(HostnameRequest),
    RunCommand(CommandRequest),
    CommandOutput(CommandRef),
    StopCommand(CommandRef),
    SignalProcess(SignalRequest),
    InspectProcess(InspectRequest),
    DeviceHolders(HoldersRequest),
    LookAtPins {},
    ControlUnit(ControlRequest),
    EnableUnit(EnableRequest),
    ActivateConnection(ConnectionRequest),
    ConfirmConnection(ConfirmRequest),
    /// The firmware's throttling word, from the mailbox.
    Throttled {},
    /// How far the agent has recomputed the audit.
    AuditPosition(Beginning),
    ExtendAudit(Extension),
    /// A checkpoint, behind which records may go.
    AuditRoom(RoomRequest),
    /// A person gives a chain up that is missing: its name and the last record that was known of it.
    AcceptGap {
        chain: String,
        seq: i64,
    },
    Heads {},
    UpdateStatus {},
    /// After its answer the connection is an install stream, and nothing else any more.
    Install(InstallRequest),
    RebootIntoUpdate(RebootIntoRequest),
    RollBack(RollBackRequest),
    MarkGood(MarkGoodRequest),
    ReportHealth(HealthReport),
    /// Arms again what is written, armed and was not tried.
    ResumeUpdate {},
    /// The file of a newer root of trust.
    TrustRoot(String),
    /// A code that is to prove whose this machine is.
    Claim(ClaimRequest),
    /// The token that answered it.
    ConfirmClaim(ShownToken),
}

impl Op {
    /// Whether it may take its time: then it holds up nothing that comes after it, and ends with its connection.
    pub fn waits(&self) -> bool {
        matches!(
            self,
            Self::AskState { .. }
                | Self::ControlUnit(_)
                | Self::EnableUnit(_)
                | Self::RunCommand(_)
                | Self::CommandOutput(_)
                | Self::ActivateConnection(_)
                | Self::ConfirmConnection(_)
                | Self::UpdateStatus {}
                | Self::RebootIntoUpdate(_)
                | Self::RollBack(_)
                | Self::MarkGood(_)
                | Self::ReportHealth(_)
                | Self::ResumeUpdate {}
                | Self::TrustRoot(_)
                | Self::Claim(_)
                | Self::ConfirmClaim(_)
        )
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Hello { .. } => "hello",
            Self::Status {} => "status",
            Self::OpenAsk(_) => "open_ask",
            Self::AskState { .. } => "ask_state",
            Self::WithdrawAsk { .. } => "withdraw_ask",
            Self::RedeemAsk { .. } => "redeem_ask",
            Self::ListAsks {} => "list_asks",
            Self::Answer { .. } => "answer",
            Self::Elicited { .. } => "elicited",
            Self::Power(request) => request.action.name(),
            Self::CancelPower { action: PowerAction::Reboot } => "cancel_reboot",
            Self::CancelPower { action: PowerAction::Shutdown } => "cancel_shutdown",
            Self::SetHostname(_) => "set_hostname",
            Self::RunCommand(_) => "run_command",
            Self::CommandOutput(_) => "command_output",
            Self::StopCommand(_) => "stop_command",
            Self::SignalProcess(_) => "signal_process",
            Self::InspectProcess(_) => "inspect_process",
            Self::DeviceHolders(_) => "device_holders",
            Self::LookAtPins {} => "look_at_pins",
            Self::ControlUnit(_) => "control_unit",
            Self::EnableUnit(_) => "enable_unit",
            Self::ActivateConnection(_) => "activate_connection",
            Self::ConfirmConnection(_) => "confirm_connection",
            Self::Throttled {} => "throttled",
            Self::AuditPosition(_) => "audit_position",
            Self::ExtendAudit(_) => "extend_audit",
            Self::AuditRoom(_) => "audit_room",
            Self::AcceptGap { .. } => "accept_gap",
            Self::Heads {} => "heads",
            Self::UpdateStatus {} => "update_status",
            Self::Install(_) => "install",
            Self::RebootIntoUpdate(_) => "reboot_into_update",
            Self::RollBack(_) => "roll_back",
            Self::MarkGood(_) => "mark_good",
            Self::ReportHealth(_) => "report_health",
            Self::ResumeUpdate {} => "resume_update",
            Self::TrustRoot(_) => "trust_root",
            Self::Claim(_) => "claim",
            Self::ConfirmClaim(_) => "confirm_claim",
        }
    }
}

/// How the machine goes down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PowerAction {
    /// It comes up again.
    #[default]
    Reboot,
    /// It stays down until somebody at the device gives it power.
    Shutdown,
}

impl PowerAction {
    pub const ALL: [Self; 2] = [Self::Reboot, Self::Shutdown];

    pub fn name(self) -> &'static str {
        match self {
            Self::Reboot => "reboot",
            Self::Shutdown => "shutdown",
        }
    }
    /// The one tool that may ask for it.
    pub fn tool(self) -> &'static str {
        match self {
            Self::Reboot => "system.reboot",
            Self::Shutdown => "system.shutdown",
        }
    }
}

/// A reboot or shutdown, as the agent's policy judges it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerRequest {
    pub action: PowerAction,
    /// 0 to 600.
    pub delay_seconds: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// A new host name, as the agent's policy judges it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostnameRequest {
    /// One label of RFC 1123 in lower case.
    pub hostname: String,
    /// Judge it and change nothing.
    pub dry_run: bool,
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hostname {
    pub previous: String,
    pub simulated: bool,
}

/// What comes back.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Done {
    Hello { protocol: u32, version: String },
    Status(Box<Status>),
    Ask(Ask),
    Asks(Vec<Ask>),
    Approval(Approval),
    Power(Scheduled),
    Hostname(Hostname),
    Command(Box<CommandEnd>),
    Output(CommandOutput),
    Signalled(Signalled),
    Process(Box<Detail>),
    Holders(Vec<Holder>),
    Pins(Vec<PinLook>),
    Unit(Controlled),
    Enabled(Enabled),
    Connected(Connected),
    Confirmed(Confirmed),
    Cancelled(CancelledPower),
    Throttled(u32),
    Heads(KnownHeads),
    Position(Position),
    Checkpoint(Checkpoint),
    AcceptedGap(AcceptedGap),
    Update(Box<UpdateStatus>),
    RolledBack(RolledBack),
    MarkedGood(MarkedGood),
    TrustedRoot(u64),
    Offered(Offered),
    Claimed(Claimed),
    Health(HealthTaken),
    Done {},
}

/// A reboot or shutdown that will come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheduled {
    #[serde(default)]
    pub action: PowerAction,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    pub reason: Option<String>,
    pub principal: String,
    /// Nothing but the simulated machine will notice.
    pub simulated: bool,
}

/// What became of a wish to cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelledPower {
    /// Whether there was one to cancel.
    pub cancelled: bool,
    pub simulated: bool,
}

/// How a reboot or shutdown ended, or did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PastPower {
    pub scheduled: Scheduled,
    pub outcome: PowerOutcome,
    /// More about it, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PowerOutcome {
    /// The machine came up anew after it.
    Done,
    /// The simulated machine noted it.
    Simulated,
    /// Somebody cancelled it.
    Cancelled,
    /// The machine restarted for another reason before its time.
    Overtaken,
    /// The agent was not running at its time, and too long after.
    Missed,
    /// The machine would not.
    Failed,
}

/// An answer line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// `None` when the line had no readable id.
    pub id: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<Done>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<WireError>,
}

impl Reply {
    pub fn new(id: Option<u64>, result: Result<Done, ToolError>) -> Self {
        match result {
            Ok(done) => Self { id, ok: Some(done), error: None },
            Err(error) => Self { id, ok: None, error: Some(error.into()) },
        }
    }

    pub fn into_result(self) -> Result<Done, ToolError> {
        match (self.ok, self.error) {
            (Some(done), None) => Ok(done),
            (None, Some(error)) => Err(error.into()),
            _ => Err(ToolError::internal("the agent's answer is neither a result nor an error")),
        }
    }
}
