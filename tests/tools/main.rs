//! The tools, through the front of the registry: schema, parser, handler, and the answer against its own schema.
//!
//! A program beside `tests/it`, so that who works on a tool compiles these alone. `manage.*` is in `tests/it/manage`, with the
//! updates that it is about.
// A test may fail loudly.
#![allow(clippy::unwrap_used)]

mod camera;
mod compat;
mod describe;
mod exec;
mod files;
mod gpio;
mod i2c;
mod logs;
mod metrics;
mod network;
mod onewire;
mod ping;
mod process;
mod process_load;
mod run;
mod search;
mod sensors;
mod serial;
mod service;
mod spi;
#[path = "../support/mod.rs"]
mod support;
mod system;
mod vector;
