//! Updates.

