//! The identity of an appliance: its owner, how it is reached, and how it is claimed.
//!
//! Depends on `base`, `contract` and `update` (whose record of slots contains what survives), and neither on the server
//! nor on the agent.
//!
//! The identity is stored in the agent-state area, which survives the loss of everything else ([`identity`]).
//! `raspi-mcp prepare` derives files from it in `/run` at each boot ([`derived`]), before the server, the agent and the
//! network start; server and agent read them there. Every step can be repeated after a power cut. A claim code is valid
//! for one boot and five tries. Only the hash of the resulting token is stored. docs/first-boot.md explains it to
//! users.

pub mod backup;
pub mod certificate;
pub mod claim;
pub mod code;
pub mod connections;
pub mod derived;
pub mod device_key;
pub mod generation;
pub mod grow;
pub mod halt;
pub mod identity;
mod network;
mod partition;
pub mod prepare;
pub mod provisioning;
mod reset;
pub mod revoked;
pub mod timezone;
mod words;

pub use claim::{ClaimRefusal, CurrentClaim};
pub use code::{Code, Typo};
pub use derived::{ApplianceState, FOLDER, Folder};
pub use identity::{FirstApprovers, Identity, ReleaseChannel, Wifi};
