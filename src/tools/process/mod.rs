//! `process.*`: the running processes, from `/proc`, and signals to them, through the agent.

mod get_process_details;
mod list_processes;
mod measured;
mod selection;
mod send_signal;
mod summary;

use crate::registry::row::Row;

pub static TOOLS: &[Row] = &[
    Row::of::<list_processes::ListProcesses>(),
    Row::of::<get_process_details::GetProcessDetails>(),
    Row::of::<send_signal::SendSignal>(),
];
