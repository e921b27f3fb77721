//! One test binary; mirrors `src/`.

mod config;
