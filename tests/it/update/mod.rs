//! Updates.
