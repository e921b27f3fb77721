//! Callers, their permissions and shares, and the asks that a person is shown.

pub mod caller;
pub mod commands;
pub mod policy;
pub mod presence;
pub mod question;
pub mod reach;
pub mod seats;
pub mod shares;
pub mod token;
pub mod way;

pub use base::redact;
