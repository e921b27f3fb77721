//! What both halves agree on: settings, roles and policy, the metadata and schemas of tools, the records of the audit.
//!
//! Knows `base` and no other crate of this workspace. From below: [`meta`] and [`values`]; [`actions`], [`config`]; [`access`], [`schema`],
//! [`audit`].

pub mod access;
pub mod actions;
pub mod audit;
pub mod config;
pub mod meta;
pub mod schema;
pub mod values;
