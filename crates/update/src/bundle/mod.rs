//! Bundles: the files that deliver updates (docs/bundle-format.md).
//!
//! The types express the order of trust: bytes from a network become an [`Envelope`] (untrusted); the root of trust
//! makes a [`super::trust::VerifiedRelease`] of it, whose manifest is trusted; a release makes an [`BlockIndex`] of the bytes whose
//! hash it names; and a [`Block`] of that index states the hash that stored bytes must have before [`unpack`] passes
//! them to the decompressor.

mod build;
mod changes;
pub mod delta;
mod digest;
mod envelope;
mod fault;
mod forbidden;
mod frame;
mod index;
mod manifest;
mod signature;
mod strict;
pub mod tree;
mod words;

pub use build::{Built, BundleContent, ImageSource, build};
pub use changes::{Changes, Renamed, ServiceChanges, SettingChanges};
pub use digest::Digest;
pub use envelope::{BundleHead, Envelope, MAX_HEAD, MAX_SIGNATURES, PREAMBLE, SIGNATURES_SIZE};
pub use fault::BundleError;
pub use forbidden::{check_boot, is_forbidden};
pub use frame::{MAX_OVERHEAD, Unpacker, unpack};
pub use index::{Block, BlockIndex, ENTRY};
pub use manifest::{Image, ImageKind, IndexRef, MAX_INDEX, MAX_MANIFEST, Manifest};
pub use signature::Signature;
pub use strict::strict;
pub use words::{is_time, is_version, is_word};
