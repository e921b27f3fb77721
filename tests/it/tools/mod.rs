//! The tools, through the front of the registry: schema, parser, handler, and the answer against its own schema.

mod metrics;
mod network;
mod service;
mod system;
