//! Who is calling, what they may do, how often, and the record of it.

pub mod approval;
pub mod audit;
pub mod base64url;
pub mod caller;
pub mod canonical;
pub mod commands;
pub mod groups;
pub mod jwt;
pub mod ledger;
pub mod observed;
pub mod policy;
pub mod presence;
pub mod rate;
pub mod redact;
pub mod refusals;
pub mod token;
