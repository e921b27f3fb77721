//! Updates: what a bundle is made of, whom to believe, what is written, what boots, and what must never brick.

mod boot;
mod bundle;
mod channel;
mod disk;
mod fat;
mod fetch;
mod health;
mod hostile;
mod initramfs;
pub mod install;
mod job;
mod keys;
mod kill;
mod made;
pub mod origin;
pub mod powercut;
mod proofs;
mod replay;
mod sample;
mod slots;
mod trust;
mod whole;
mod window;

pub use keys::*;
pub use made::*;
