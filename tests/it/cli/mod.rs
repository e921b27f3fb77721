//! Mirrors `src/cli/`.

mod agent;
mod approve;
mod pages;
mod service;
