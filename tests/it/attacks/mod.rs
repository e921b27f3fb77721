//! Attacks on the network door, tried against the real listener.

mod flood;
mod names;
mod tls;
mod tokens;
