//! Sections of the settings that belong to one namespace of tools, a file each: types, and the check of what is written there.

pub mod allow;
pub mod approval;
pub mod camera;
pub mod claim;
pub mod exec;
pub mod files;
pub mod gpio;
pub mod i2c;
pub mod metrics;
mod service;
pub mod update;

pub use approval::Approval;
pub use service::Service;
