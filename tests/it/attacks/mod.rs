//! Attacks: on the network door, against the real listener; on the fields of every tool; on the folders that files.* may reach.

mod button;
mod claim;
mod fields;
mod files;
mod flood;
mod names;
mod photos;
mod policy;
mod revoked;
mod shares;
mod tls;
mod tokens;
mod unread;
