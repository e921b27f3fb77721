//! `process.*`: the running processes, from `/proc`, and signals to them, through the agent.

mod get_process_details;
mod list_processes;
mod measured;
mod selection;
mod send_signal;
mod summary;

use crate::registry::row::ToolRow;

pub static TOOLS: &[ToolRow] = &[
    ToolRow::of::<list_processes::ListProcesses>(),
    ToolRow::of::<get_process_details::GetProcessDetails>(),
    ToolRow::of::<send_signal::SendSignal>(),
];
