//! The files of a channel.

/// The file of an index, below its channel's folder.
pub const INDEX: &str = "index.signed";
/// The folder of the roots of trust, and of its files' ends: `roots/2.signed`.
pub const ROOTS: &str = "roots";
