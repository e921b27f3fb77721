//! The tools, through the front of the registry: schema, parser, handler, and the answer against its own schema.

pub mod camera;
mod describe;
mod exec;
pub mod files;
pub mod gpio;
mod i2c;
mod logs;
pub mod manage;
mod metrics;
mod network;
mod ping;
mod process;
mod process_load;
mod run;
mod search;
mod service;
mod system;
