//! `onewire.*`: the 1-Wire devices that the kernel has found, and what they say (docs/contract/onewire.md).
//!
//! Reads only, and only those that change nothing: without a list of what may be read.

mod list_devices;
mod read;

use crate::registry::{context::Context, row::ToolRow};

pub static TOOLS: &[ToolRow] = &[ToolRow::of::<list_devices::ListDevices>(), ToolRow::of::<read::Read>()];

/// Marks answers of a simulated board.
fn mark(cx: &Context) {
    if cx.services.machine.board.is_simulated() {
        cx.notes.simulated();
    }
}
