//! What every other crate stands on: errors, clocks, text and hashes, and readers of the operating system.
//!
//! Knows no other crate of this workspace.

pub mod base64url;
pub mod canonical;
pub mod clock;
pub mod error;
pub mod os;
pub mod redact;
pub mod reload_on_change;
