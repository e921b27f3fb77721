//! Who is calling, what they may do, how often, and the record of it.

pub mod caller;
pub mod commands;
pub mod policy;
pub mod presence;
pub mod question;
pub mod seats;
pub mod shares;
pub mod token;
pub mod way;

pub use base::redact;
