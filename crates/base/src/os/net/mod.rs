//! The kernel's state of the network: interfaces, addresses, routes, sockets, name servers, radio.

pub mod address;
pub mod interface;
pub mod resolver;
pub mod route;
pub mod socket;
pub mod wireless;
