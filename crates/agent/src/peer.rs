//! The peer at the other end of the agent's socket, as the kernel reports it, and its rights.

use super::{authorization::Authorization, settings::AgentSettings};
use base::{
    error::ToolError,
    os::{Root, groups},
};
use contract::config::sections::agents::is_agent;
use std::fmt;

/// The principal of operations at a console.
pub const CONSOLE: &str = "console";

/// The kind of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerKind {
    /// The network half: opens asks and runs operations, never answers asks.
    Server,
    /// uid 0 or a member of the approver group: reads asks and answers them.
    Approver,
    /// The agent's own user on a simulated board: both.
    SimulatedOwner,
    /// The approval page: carries signed asks, answers and orders, and nothing else.
    ApprovalPage,
    /// The process that talks to routers: asks before each write, and nothing else.
    Routers,
}

/// Who may request an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callers {
    /// Every admitted peer, except the approval page.
    Anyone,
    /// Every admitted peer: what is carried is signed.
    Carriers,
    /// Those who may answer asks, at the machine; `command` is the command for it.
    Approvers { command: &'static str },
    /// The network half alone.
    Server,
    /// The process that talks to routers.
    Routers,
}

/// One peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    pub uid: u32,
    /// The user's name, or "uid 1000".
    pub name: String,
    pub standing: PeerKind,
}

impl Peer {
    /// The server in the agent's own process, on a simulated board.
    pub fn in_process() -> Self {
        Self { uid: rustix::process::getuid().as_raw(), name: "this process".into(), standing: PeerKind::Server }
    }

    /// What talks to routers in the agent's own process, on a simulated board.
    pub fn routers_in_process() -> Self {
        Self { standing: PeerKind::Routers, ..Self::in_process() }
    }

    /// Judges the user `uid` with primary group `gid`, running as process `pid`.
    ///
    /// # Errors
    /// `permission_denied` for users without access, and for anything started by an exec tool.
    pub fn judge(settings: &AgentSettings, uid: u32, gid: u32, pid: Option<i32>) -> Result<Self, ToolError> {
        let name = groups::user_name(&settings.root, uid).unwrap_or_else(|| format!("uid {uid}"));
        if pid.is_some_and(|pid| runs_for_exec(&settings.root, pid)) || is_agent(&name) {
            return Err(
                ToolError::denied("commands started through raspi-mcp may not talk to its agent").with("uid", uid)
            );
        }
        let standing = if settings.simulated && uid == rustix::process::getuid().as_raw() {
            PeerKind::SimulatedOwner
        } else if settings.server_uid == Some(uid) {
            // Checked before root: a server that runs as root may still not answer its own asks.
            PeerKind::Server
        } else if settings.approval_page_uid == Some(uid) {
            PeerKind::ApprovalPage
        } else if settings.routers_uid == Some(uid) {
            PeerKind::Routers
        } else if uid == 0 || groups::contains(&settings.root, &settings.approver_group, uid, gid) {
            PeerKind::Approver
        } else {
            let approvers = format!("approvers are root and the members of group {}", settings.approver_group);
            let hint = match settings.server_uid {
                None if !settings.simulated => format!("{approvers}; {}", settings.without_server()),
                _ => approvers,
            };
            return Err(ToolError::denied(format!("{name} may not talk to the agent")).with("uid", uid).hint(hint));
        };
        Ok(Self { uid, name, standing })
    }

    /// Whether this peer may request the operation `name`, which accepts `callers`.
    ///
    /// # Errors
    /// `permission_denied` saying who may.
    pub fn may(&self, name: &str, callers: Callers) -> Result<(), ToolError> {
        let owner = self.standing == PeerKind::SimulatedOwner;
        let (who, hint) = match callers {
            // The process that talks to routers greets, and carries nothing.
            Callers::Carriers if self.standing != PeerKind::Routers || name == "hello" => return Ok(()),
            Callers::Anyone if !matches!(self.standing, PeerKind::ApprovalPage | PeerKind::Routers) => return Ok(()),
            Callers::Approvers { .. } if owner || self.standing == PeerKind::Approver => return Ok(()),
            Callers::Server if owner || self.standing == PeerKind::Server => return Ok(()),
            Callers::Routers if owner || self.standing == PeerKind::Routers => return Ok(()),
            Callers::Approvers { command } => {
                ("an approver", format!("run `{command}` as root or as a member of the approver group"))
            }
            Callers::Server => ("the server's user", "call the tool through the server".to_owned()),
            Callers::Routers => {
                ("the user of raspi-mcp-routeros", "the process that talks to routers asks for each write".to_owned())
            }
            Callers::Anyone | Callers::Carriers => {
                ("the server or an approver", "the approval page carries asks, answers and orders only; the process of the routers asks before each write".to_owned())
            }
        };
        Err(ToolError::denied(format!("{name} needs {who}; {} is not", self.name))
            .with("operation", name)
            .with("uid", self.uid)
            .hint(hint))
    }

    /// A person with all rights on the machine itself, using `raspi-mcp slot`: no approval would add anything.
    pub fn is_root(&self) -> bool {
        self.standing == PeerKind::Approver && self.uid == 0
    }

    /// Whether an operation with this authorization is that person's own: root's or, on a simulated board, the user's
    /// at the console.
    pub fn is_at_the_console(&self, authorization: &Authorization) -> bool {
        self.is_root() || self.standing == PeerKind::SimulatedOwner && authorization.principal == CONSOLE
    }

    /// How an answer by this peer is recorded.
    pub fn how(&self) -> &'static str {
        match self.standing {
            PeerKind::SimulatedOwner => "raspi-mcp approve; simulated board, same user",
            _ => "raspi-mcp approve",
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.uid)
    }
}

/// Whether the process is in the control group of a command of the exec tools, or of an agent.
fn runs_for_exec(root: &Root, pid: i32) -> bool {
    root.read(&format!("proc/{pid}/cgroup"))
        .is_ok_and(|text| text.contains("/raspi-mcp-exec") || text.contains("/raspi-mcp-agents"))
}
