//! `agents.*`: programs that bring tools of their own (docs/contract/agents.md), and the tools that they bring.

mod brought;
mod get_status;
mod list;
mod result;
mod send_task;
mod shown;
mod shutdown;
mod spawn;

pub use brought::{entries, refusal};

use crate::registry::row::ToolRow;

/// Characters of an id or a type, at most.
const NAME: usize = 64;

pub static TOOLS: &[ToolRow] = &[
    ToolRow::of::<spawn::Spawn>(),
    ToolRow::of::<send_task::SendTask>(),
    ToolRow::of::<list::List>(),
    ToolRow::of::<get_status::GetStatus>(),
    ToolRow::of::<shutdown::Shutdown>(),
];
