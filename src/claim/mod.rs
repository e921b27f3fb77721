//! How an appliance fresh from the flash gets its owner (docs/claim.md): what it shows, the one line a camera takes up, the client that
//! brings the code back over pinned TLS, and who may come in before and after.
//!
//! The privileged half judges codes (`agent::operations::claim`); the network half only carries them (`transport::http::claim`).

pub mod client;
pub mod led;
mod news;
pub mod ownership;
pub mod qr;
pub mod show;
pub mod uri;
