//! What the agent does to the machine, one file a deed. Each checks by its own copy of the policy, and does it.

pub mod claim;
pub mod connection;
pub mod enable;
pub mod exec;
mod firmware;
pub mod holders;
mod hostname;
pub mod pins;
mod power;
pub mod process;
pub mod unit;
pub mod update;
