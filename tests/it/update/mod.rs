//! Updates: what a bundle is made of, whom to believe, and what must never brick.

mod bundle;
mod fat;
mod made;
mod trust;

pub use made::*;
