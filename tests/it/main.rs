//! One test binary; mirrors `src/`.

mod access;
mod config;
// A test may fail loudly.
#![allow(clippy::unwrap_used)]

mod layout;
