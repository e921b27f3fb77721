//! Whom to believe.

mod roots;
