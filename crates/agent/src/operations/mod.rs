//! What the agent can be asked for, one file each: `rows.rs` is the list.
//!
//! To add one: a file with an implementation of [`Operation`], and its row at the end of `rows.rs`. The server half calls it with
//! [`AgentLink::call`](crate::AgentLink::call). A tool whose calls become such an operation also has a line in
//! [`AgentPolicy`](crate::AgentPolicy)'s table, with its mode when the configuration is silent.

pub mod asks;
pub mod audit;
pub mod claim;
pub mod commands;
pub mod hello;
pub mod holders;
pub mod hostname;
pub mod network;
mod operation;
pub mod pins;
pub mod power;
pub mod process;
mod row;
mod rows;
pub mod service;
pub mod status;
mod table;
pub mod throttled;
pub mod update;

pub use operation::Operation;
pub(crate) use row::perform;
pub use row::{Answer, AnyRequest, Row};
pub use rows::OPERATIONS;

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a card that is busy may take for a few small writes, each of them flushed; and commands that tell whether all is well.
const CARD: Duration = Duration::from_secs(50);

/// An answer without fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {}
