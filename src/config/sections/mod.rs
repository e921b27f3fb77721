//! Sections of the settings that belong to one namespace of tools, a file each.

pub mod exec;
mod service;

pub use service::Service;
