//! Sections with a file of their own: their types, and the check of what is written there.

pub mod exec;
