//! What an install has recorded of itself: one write a step, on the medium when the call returns.

use crate::{
    error::ToolError,
    update::{Slot, trust::Release},
};

/// The records of the slots, as the engine needs them.
pub trait Book: Send + Sync {
    /// From now on `to` holds something that is being written: nothing is to be started from it.
    ///
    /// # Errors
    /// When it could not be recorded; nothing of the slot is written then. So for all that follow.
    fn writing(&self, release: &Release, to: Slot) -> Result<(), ToolError>;
    /// `to` is whole and read back: it may be tried.
    ///
    /// # Errors
    /// As above; the slot is not tried then.
    fn armed(&self, release: &Release, to: Slot) -> Result<(), ToolError>;
    /// `to` holds something else than it was given, or what must not be started. It is not resumed.
    ///
    /// # Errors
    /// As above.
    fn failed(&self, release: &Release, to: Slot, why: &ToolError) -> Result<(), ToolError>;
    /// The writing ended early and can be resumed.
    ///
    /// # Errors
    /// As above.
    fn interrupted(&self, release: &Release, to: Slot, why: &ToolError) -> Result<(), ToolError>;
}
