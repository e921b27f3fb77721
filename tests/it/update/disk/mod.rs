//! The card: its layout as a file, its devices in sysfs, who may have which, and what a write is.

mod folder;
mod layout;
pub mod real;
