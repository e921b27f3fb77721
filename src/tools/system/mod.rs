//! `system.*`: what this machine is, how it is, and restarting it.

mod reboot;

use crate::registry::tool::Entry;

pub static TOOLS: &[Entry] = &[Entry::of::<reboot::Reboot>()];
