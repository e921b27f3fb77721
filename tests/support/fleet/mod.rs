//! A fleet with a real broker: the folder of its owner, nats-server with TLS, and devices that speak the real formats.

mod broker;
mod desk;
mod device;

pub use broker::NatsServer;
pub use desk::{FLEET, FleetDesk};
pub use device::{DeviceClient, SimulatedDevice};

/// The broker lets a device of this name do everything.
pub const HOSTILE: &str = "hostile";
