//! The tools `fleet.*` over a fleet in memory.

mod callers;
mod port;
mod tools;
