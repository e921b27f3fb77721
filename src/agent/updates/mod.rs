//! The agent's part of updates: the card, the boot chain, what is recorded of them, and who may change them when.

mod open;
mod session;
mod take_over;

pub(super) use open::open;
pub(super) use session::Session;
pub(super) use take_over::{may_take_over, take_over};

