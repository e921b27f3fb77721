//! Updates: what a bundle is made of, whom to believe, what is written, what boots, and what must never brick.

mod boot;
mod bundle;
mod channel;
mod disk;
mod fat;
mod fetch;
mod firmware;
mod health;
mod install;
mod job;
mod made;
mod slots;
mod trust;

pub use made::*;
