//! The agent's operations, one file each; `rows.rs` lists them.
//!
//! To add one: a file with an implementation of [`Operation`], and its row at the end of `rows.rs`. The server half
//! calls it with [`AgentLink::call`](crate::AgentLink::call). A tool whose calls become such an operation also has a
//! row in [`AgentPolicy`](crate::AgentPolicy)'s table, with its default mode.

pub mod agents;
pub mod approvals;
pub mod asks;
pub mod audit;
pub mod backup;
pub mod claim;
pub mod commands;
pub mod fleet;
pub mod halt;
pub mod hello;
pub mod holders;
pub mod hostname;
pub mod network;
mod operation;
pub mod pins;
pub mod power;
pub mod process;
pub mod routeros;
mod row;
mod rows;
pub mod service;
pub mod status;
mod table;
pub mod throttled;
pub mod timezone;
pub mod update;

pub use operation::Operation;
pub(crate) use row::perform;
pub use row::{Answer, AnyRequest, OperationRow};
pub use rows::OPERATIONS;

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Limit for a few small synced writes to a busy card, and for the commands of health checks.
const CARD: Duration = Duration::from_secs(50);

/// An answer without fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {}
