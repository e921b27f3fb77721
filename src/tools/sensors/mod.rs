//! `sensors.*`: what the kernel's drivers measure (docs/contract/sensors.md).
//!
//! The server reads sysfs itself, without the agent. [`hw::sensors`] finds the sensors and reads them.

mod list;
mod measured;
mod read;

use crate::registry::{context::Context, row::ToolRow};

pub static TOOLS: &[ToolRow] = &[ToolRow::of::<list::List>(), ToolRow::of::<read::Read>()];

/// Marks answers of a simulated board.
fn mark(cx: &Context) {
    if cx.services.machine.board.is_simulated() {
        cx.notes.simulated();
    }
}

/// What to do where there are none.
const NONE: &str = "the kernel has no driver for a sensor here: i2c.identify and onewire.list_devices find what is attached, and say which dtoverlay= line of config.txt gives it one";
