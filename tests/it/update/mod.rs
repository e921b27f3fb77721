//! Updates: what a bundle is made of, whom to believe, where it comes from, what is written, what boots, and what must never brick.

mod boot;
mod bundle;
mod channel;
mod fat;
mod fetch;
mod hostile;
mod made;
mod origin;
mod sample;
mod trust;
mod whole;

pub use made::*;
