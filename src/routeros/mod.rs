//! MikroTik routers: a client of RouterOS' REST API, what is read with it, and changes that take themselves back.
//!
//! It knows `client` (for a connection that is checked) and `base`. Not yet part of a process of its own: no tool uses it.

pub mod client;
pub mod device;
pub mod failure;
pub mod plan;
pub mod reads;
pub mod value;

pub use client::RouterClient;
pub use device::Device;
