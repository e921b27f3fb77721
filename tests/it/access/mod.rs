//! Who may do what, and the record of it.

mod audit;
mod durability;
mod jwt;
mod redact;
mod token;

pub use audit::call;
