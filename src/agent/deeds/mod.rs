//! What the agent does to the machine, one file a deed. Each checks by its own copy of the policy, and does it.

mod audit;
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

use super::protocol::Op;

impl Op {
    /// Whether it does what a tool is called for, to the machine: what may have been done when its answer is lost.
    pub fn is_deed(&self) -> bool {
        matches!(
            self,
            Self::Power(_)
                | Self::CancelPower { .. }
                | Self::SetHostname(_)
                | Self::RunCommand(_)
                | Self::SignalProcess(_)
                | Self::ControlUnit(_)
                | Self::EnableUnit(_)
                | Self::ActivateConnection(_)
                | Self::ConfirmConnection(_)
                | Self::RebootIntoUpdate(_)
                | Self::RollBack(_)
                | Self::MarkGood(_)
        )
    }
}
