//! Attacks: on the network door, tried against the real listener, and on the folders that files.* may reach.

mod files;
mod flood;
mod names;
mod tls;
mod tokens;
