//! One test binary; mirrors `src/`.

mod access;
mod config;
