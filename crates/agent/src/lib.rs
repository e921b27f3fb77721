//! The privileged half: a short list of typed operations over a unix socket, or in the same process on a simulated
//! board.
//!
//! It does not trust the network half about permissions: it gets the caller from the kernel, judges each operation by
//! its own copy of the policy, keeps the approvals itself, and writes its own log.
//!
//! Depends on every crate below it (`base`, `contract`, `hw`, `update`, `appliance`), and neither on the server half
//! nor on any network code.
//!
//! A caller is admitted only after every check, and admission is the last step before an act. An approval is valid for
//! one tool, one principal and one hash of arguments, once. An operation's outcome is logged before it is answered.
//!
//! Imports go one way, from the end of this list to its start:
//!
//! | modules | what they are |
//! | --- | --- |
//! | `clock`, `files`, `wire`, `hostname` | time, the agent's folder, lines of a socket |
//! | `exec`, `machine`, `network`, `processes`, `units`, `header` | ports of the machine, real and simulated |
//! | `site`, `policy`, `settings`, `authorization`, `peer` | who may do what |
//! | `agents`, `asks`, `log`, `heads`, `power`, `connections`, `claims`, `installer`, `halt`, `button` | the parts, each of which keeps one thing |
//! | `platform`, `context` | all ports; the agent as the sum of its parts |
//! | [`operations`] | what it can be asked for, one file each |
//! | `core`, `protocol` | an operation done for a peer; requests and answers as lines |
//! | `admission`, `server`, `client`, `link`, `start` | both ends of the socket |

mod admission;
mod agents;
pub mod approvers;
pub mod asks;
mod authorization;
mod button;
mod claims;
mod client;
mod clock;
pub mod connections;
pub mod context;
mod core;
mod doors;
pub mod exec;
mod files;
mod fleet;
mod halt;
mod header;
pub mod heads;
pub mod hostname;
mod installer;
mod link;
mod log;
pub mod machine;
pub mod network;
pub mod operations;
pub mod peer;
mod platform;
pub mod policy;
pub mod power;
pub mod processes;
pub mod protocol;
mod server;
mod settings;
mod site;
mod start;
pub mod units;
mod wire;

pub use agents::{AgentFailure, AgentState, AgentsNow, OfferedTool, ToolState};
pub use asks::{Ask, AskRequest, AskState};
pub use authorization::Authorization;
pub use button::answerable;
pub use client::Client;
pub use clock::{BootClock, Clock, boot_clock, system_clock};
pub use context::Agent;
pub use installer::{
    BootableCard, CardPort, DEAD_MAN, FLEET, GRANTS, HealthReport, HealthTaken, MAX_PROBLEM, MAX_PROBLEMS, NewSetting,
    UpdateTool, knows, warning as other_release_warning,
};
pub use link::AgentLink;
pub use machine::PowerAction;
pub use operations::{Operation, status::AgentStatus};
pub use peer::{Peer, PeerKind};
pub use platform::Platform;
pub use policy::AgentPolicy;
pub use processes::SignalName;
pub use server::{bind, converse, serve};
pub use settings::AgentSettings;
pub use site::{REVOKED, SiteOrders};
pub use start::{in_process, run};
