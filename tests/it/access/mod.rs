//! Who may do what, and the record of it.

mod audit;
mod durability;
mod elicited;
mod jwt;
mod killed;
mod question;
mod record;
mod redact;
mod token;

pub use audit::call;
