//! What makes an image an appliance of somebody's: who it belongs to, how it is reached, and how it comes to be owned.
//!
//! Knows `base`, `contract` and `update` (whose record of slots holds what survives), and neither half.
//!
//! The truth is in the agent-state area, which survives the loss of everything else ([`identity`]). `raspi-mcp prepare` writes what
//! follows from it into `/run` at each boot ([`derived`]), before anything of ours or the network starts; both halves read it there. Every
//! step can be repeated after a power cut. A claim code
//! counts for one boot and five tries; of the token that it brings, only the hash is kept. docs/first-boot.md tells it to people.

pub mod certificate;
pub mod claim;
pub mod code;
pub mod connections;
pub mod derived;
pub mod grow;
pub mod identity;
mod network;
mod partition;
pub mod prepare;
pub mod provisioning;
mod reset;
mod words;

pub use claim::{Claim, Refusal};
pub use code::{Code, Typo};
pub use derived::{FOLDER, Folder, Standing};
pub use identity::{Channel, Identity, Wifi};
