//! Mirrors `src/cli/`.

mod approve;
