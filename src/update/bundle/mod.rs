//! Bundles: what an update is delivered as (docs/bundle-format.md).

mod digest;
mod manifest;

pub use digest::Digest;
pub use manifest::{Image, ImageKind, IndexRef, Manifest};
