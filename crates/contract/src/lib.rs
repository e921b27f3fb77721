//! What server and agent share: settings, roles and policy, metadata and schemas of tools, records of the audit.
//!
//! Depends on `base` and no other crate of this workspace. From the bottom up: [`meta`] and [`values`]; [`actions`],
//! [`config`]; [`access`], [`schema`], [`audit`]; [`halt`].
//!
//! Server and agent use the same code: each default, limit and name is defined once, here. Settings are checked
//! completely before they are used. These types are on disk and on the wire of devices in the field, so old spellings
//! must stay readable.

pub mod access;
pub mod actions;
pub mod audit;
pub mod config;
pub mod halt;
pub mod meta;
pub mod schema;
pub mod values;
