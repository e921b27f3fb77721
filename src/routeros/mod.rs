//! MikroTik routers: a client of RouterOS' REST API, what is read with it, and changes that take themselves back.
//!
//! It knows `client` (for a connection that is checked), `contract` and `base`. The tools are rows (`table`); `service` checks and
//! runs a call, wherever that is done; `link` is the server's way to it.

pub mod authority;
pub mod call;
pub mod client;
pub mod configured;
pub mod device;
pub mod failure;
pub mod link;
pub mod network;
pub mod plan;
pub mod plans;
pub mod presented;
pub mod reads;
pub mod routers;
pub mod rows;
pub mod serve;
pub mod service;
pub mod table;
pub mod value;
pub mod wire;
pub mod write;

pub use client::RouterClient;
pub use device::Device;
