//! The tools, through the front of the registry: schema, parser, handler, and the answer against its own schema.

pub mod files;
mod logs;
mod metrics;
mod network;
mod ping;
mod service;
mod system;
