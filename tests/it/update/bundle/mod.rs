//! The format: what is read back is what was built, and what is bent is refused.

mod build;
