//! Readers of the operating system.
pub mod root;
pub use root::Root;
