//! How an appliance fresh from the flash gets its owner (docs/claim.md): the code it shows, the one address a camera takes up, the client
//! that brings the code back over pinned TLS, and who may come in before and after.
//!
//! The privileged half judges codes (`agent::deeds::claim`); the network half only carries them (`transport::http::claim`).

pub mod client;
pub mod code;
pub mod ownership;
pub mod show;
pub mod uri;

/// Wrong codes that are answered between one power-on and the next.
pub const TRIES: u8 = 5;
