//! What several test programs need: a server to talk to, machines from files, a bus with services on it.
// Each program uses a part.
#![allow(dead_code, unused_imports)]

pub mod bus_users;
pub mod camera;
pub mod files;
#[path = "../conformance/fixtures/mod.rs"]
pub mod fixtures;
#[cfg(feature = "console")]
pub mod fleet;
pub mod gpio;
pub mod network_manager;
pub mod pi;
pub mod picture;
pub mod private_bus;
pub mod served;
pub mod settings;
pub mod trees;
