//! Mirrors `src/cli/`.

mod agent;
mod approve;
mod service;
