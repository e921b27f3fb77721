//! Whom to believe.

mod roots;
mod signatures;
mod signed;
