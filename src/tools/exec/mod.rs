//! `exec.*`: commands that the owner allows, run by the agent.

mod run;
mod variables;

use crate::registry::row::ToolRow;

pub static TOOLS: &[ToolRow] = &[ToolRow::of::<run::Run>()];
