//! Attacks: on the network door, against the real listener, and on the fields of every tool.

mod fields;
mod flood;
mod names;
mod tls;
mod tokens;
