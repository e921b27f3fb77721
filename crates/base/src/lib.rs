//! The foundation of all other crates: errors, clocks, text and hashes, and readers of the operating system.
//!
//! Depends on no other crate of this workspace, and knows no tools, updates or hardware.
//!
//! Readers take the root that they read below, clocks are passed in, and every read is bounded. There is no global
//! state, so tests can supply the machine's data. All error codes and JSON-RPC numbers are in one table ([`error`]).

pub mod base64url;
pub mod canonical;
pub mod clock;
pub mod dns_label;
pub mod error;
pub mod file_stamps;
pub mod nearest;
pub mod os;
pub mod redact;
pub mod reload_on_change;
pub mod serde_fields;
pub mod signing;
pub mod sort;
pub mod speech;
pub mod task;
