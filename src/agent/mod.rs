//! The privileged half: a short list of typed operations over a unix socket, or in the same process on a simulated
//! board.
//!
//! It trusts nothing the network half says about permission: it asks the kernel who is calling, judges each operation
//! by its own copy of the policy, keeps the approvals itself, and writes its own log.

mod admission;
pub mod asks;
mod authorization;
mod button;
mod client;
mod connections;
mod core;
pub mod deeds;
pub mod exec;
mod files;
pub mod heads;
pub mod hostname;
mod known;
mod link;
mod log;
pub mod machine;
pub mod network;
mod notes;
pub mod peer;
pub mod policy;
pub mod power;
pub mod processes;
pub mod protocol;
mod server;
mod settings;
mod start;
mod status;
pub mod units;
mod updates;
mod wire;

pub use self::core::{Agent, World};
pub use asks::{Ask, AskRequest, AskState};
pub use authorization::Authorization;
pub use client::Client;
pub use deeds::claim::{BootClock, ClaimRequest, Claimed, OWNER, Offered, ShownToken, boot_clock};
pub use deeds::exec::{CommandEnd, CommandOutput, CommandRef, CommandRequest, without_input};
pub use deeds::process::{InspectRequest, SignalRequest, Signalled};
pub use deeds::update::{
    HealthReport, HealthTaken, InstallRequest, MAX_PROBLEM, MAX_PROBLEMS, MarkGoodRequest, MarkedGood,
    RebootIntoRequest, RollBackRequest, RolledBack, UpdateTool,
};
pub use known::knows;
pub use link::AgentLink;
pub use peer::{Peer, Standing};
pub use policy::AgentPolicy;
pub use processes::SignalName;
pub use protocol::{HostnameRequest, PowerAction, PowerRequest, Status};
pub use server::{bind, converse, serve};
pub use settings::AgentSettings;
pub use start::{in_process, run};
pub use updates::{Card, Port as UpdatePort};

use std::sync::Arc;

/// Where the agent reads the time: milliseconds since 1970 UTC. Tests bring their own.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The machine's clock.
pub fn system_clock() -> Clock {
    Arc::new(|| crate::clock::millis(time::OffsetDateTime::now_utc()))
}
