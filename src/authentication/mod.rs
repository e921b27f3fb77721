//! Who a caller is: by a token or a JWT, and what wrong credentials cost.

pub mod jwt;
pub mod refusals;
pub mod tokens;
