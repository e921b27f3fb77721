//! Authenticates callers by token or JWT, and limits wrong credentials.

pub mod jwt;
pub mod outside;
pub mod refusals;
pub mod tokens;
