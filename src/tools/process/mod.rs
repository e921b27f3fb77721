//! `process.*`: the running processes, from `/proc`, and signals to them, through the agent.

mod get_process_details;
mod list_processes;
mod measured;
mod selection;
mod send_signal;
mod summary;

use crate::registry::tool::Entry;

pub static TOOLS: &[Entry] = &[
    Entry::of::<list_processes::ListProcesses>(),
    Entry::of::<get_process_details::GetProcessDetails>(),
    Entry::of::<send_signal::SendSignal>(),
];
