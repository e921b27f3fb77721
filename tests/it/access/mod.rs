//! Mirrors `src/access/`.

mod audit;
mod redact;

pub use audit::call;
