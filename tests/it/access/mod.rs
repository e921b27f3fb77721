//! Who may do what.

mod token;
