//! Updates: what a bundle is made of, whom to believe, what is written, what boots, and what must never brick.

mod boot;
mod bundle;
mod fat;
mod health;
mod job;
mod made;
mod trust;

pub use made::*;
