//! `exec.*`: commands that the owner allows, run by the agent.

mod run;
mod variables;

use crate::registry::row::Row;

pub static TOOLS: &[Row] = &[Row::of::<run::Run>()];
