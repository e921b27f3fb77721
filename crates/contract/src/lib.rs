//! What both halves agree on: settings, roles and policy, the metadata and schemas of tools, the records of the audit.
//!
//! Knows `base` and no other crate of this workspace. From below: [`meta`] and [`values`]; [`actions`], [`config`]; [`access`], [`schema`],
//! [`audit`].
//!
//! Both halves judge by the same code: a default, a limit or a name is written down once, here. Settings are checked whole before anybody
//! sees one. What is written here is on disk and on the wire of devices in the field: old spellings stay readable.

pub mod access;
pub mod actions;
pub mod audit;
pub mod config;
pub mod meta;
pub mod schema;
pub mod values;
