//! Who is calling, what they may do, how often, and the record of it.

pub mod approval;
pub mod audit;
pub mod base64url;
pub mod budget;
pub mod caller;
pub mod canonical;
pub mod commands;
pub mod groups;
pub mod jwt;
pub mod ledger;
pub mod observed;
pub mod policy;
pub mod presence;
pub mod question;
pub mod rate;
pub mod refusals;
pub mod sealed;
pub mod seats;
pub mod shares;
pub mod token;
pub mod tokens;
pub mod way;

pub use crate::redact;
