//! What every other crate stands on: errors, clocks, text and hashes, and readers of the operating system.
//!
//! Knows no other crate of this workspace, and nothing of tools, updates or hardware.
//!
//! Readers take the root they read below, clocks are passed, every read is bounded: no global, so a test gives what a machine would. Codes
//! and JSON-RPC numbers of errors are in one table ([`error`]).

pub mod base64url;
pub mod canonical;
pub mod clock;
pub mod error;
pub mod os;
pub mod redact;
pub mod reload_on_change;
pub mod task;
