//! How a newly flashed appliance gets its owner (docs/claim.md): the screen, the line in the QR code, the client that
//! sends the code over pinned TLS, and who has access before and after.
//!
//! The agent checks codes (`agent::operations::claim`); the server only forwards them (`transport::http::claim`).

pub mod client;
pub mod led;
mod news;
pub mod ownership;
pub mod qr;
pub mod show;
pub mod uri;
