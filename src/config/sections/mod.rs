//! Sections of the settings that belong to one namespace of tools, a file each.

mod service;

pub use service::Service;
