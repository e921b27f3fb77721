//! Who may do what, and the record of it.

mod audit;
mod redact;
mod token;

pub use audit::call;
