//! Installing: the agent's engine, which writes the slot that does not run, and the stream on which it gets its blocks.

pub mod book;
pub mod engine;
mod finale;
pub mod frame;
pub mod hooks;
mod plan;
mod read_back;
pub mod stream;
mod writer;

pub use book::Book;
pub use engine::{Engine, Finish, Site};
pub use finale::zero_head;
pub use frame::{Armed, Progress, Wanted};
pub use stream::{Finished, Install};
