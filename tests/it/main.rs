//! One test binary; mirrors `src/`.

mod access;
mod agent;
mod store;
