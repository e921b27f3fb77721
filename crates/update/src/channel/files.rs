//! File names of a channel.

/// An index, below its channel's folder.
pub const INDEX: &str = "index.signed";
/// The folder of the roots of trust: `roots/2.signed`.
pub const ROOTS: &str = "roots";
