//! Updates: what is signed, what is written, what boots.

mod boot;
mod powercut;
mod slots;
