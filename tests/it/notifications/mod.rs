//! News of asks and of trouble: what leaves the machine, to whom, and what never does.

mod asks;
mod command;
mod delivery;
mod forms;
mod halted;
pub mod receiver;
mod samples;
mod updates;
