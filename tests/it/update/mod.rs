//! Updates: what a bundle is made of, whom to believe, where it comes from, what is written, what boots, and what must never brick.

mod boot;
mod bundle;
mod channel;
mod disk;
mod fat;
mod health;
mod install;
mod job;
mod fetch;
mod hostile;
mod made;
mod origin;
mod sample;
mod trust;

pub use made::*;
