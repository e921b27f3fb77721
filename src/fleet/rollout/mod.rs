//! Rollouts of a release over a fleet, stage by stage (docs/rollouts.md). What is decided is pure and in
//! `fleet_protocol::rollout`; here are the files, the channel, and the controller.

pub mod file;
mod folder;
mod holder;
pub mod live;
mod log;
mod place;
mod plan_copy;
mod runner;
mod signed;
mod store;

pub use log::{DecisionLog, read as read_log};
pub use place::{ChannelPlace, IndexPlace};
pub use runner::{Controller, DeviceStatuses, OrderNews, RolloutClock, Tick};
pub use signed::SignedSteps;
pub use store::{RecordStore, changed};

use base::error::ToolError;
use std::{io, path::Path};

fn failed(path: &Path, error: &io::Error) -> ToolError {
    ToolError::unavailable(format!("{}: {error}", path.display())).with("path", path.display().to_string())
}
