//! `exec.*`: commands that the owner allows, run by the agent.

mod run;
mod variables;

use crate::registry::tool::Entry;

pub static TOOLS: &[Entry] = &[Entry::of::<run::Run>()];
