//! Installing: the agent's engine, which writes the slot that does not run, and the stream that delivers its blocks.

pub mod engine;
mod finale;
pub mod frame;
pub mod hooks;
pub mod judge;
mod judged;
mod plan;
mod read_back;
pub mod record;
pub mod stream;
mod tree;
mod writer;

pub use engine::{Finish, InstallEngine, InstallSite};
pub use finale::zero_head;
pub use frame::{Armed, InstallProgress, NeededBlocks};
pub use judge::MachineFacts;
pub use judged::Judged;
pub use record::InstallRecord;
pub use stream::{InstallOutcome, InstallStream};
