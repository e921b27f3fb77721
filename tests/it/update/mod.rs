//! Updates: what a bundle is made of, whom to believe, what is written, what boots, and what must never brick.

mod boot;
mod bundle;
mod disk;
mod fat;
mod health;
pub mod install;
mod job;
mod kill;
mod made;
mod replay;
mod trust;

pub use made::*;
