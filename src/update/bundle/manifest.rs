//! The manifest: what a bundle is, for whom, and the hash of all the rest. JSON, signed as the exact bytes it is.

use super::Digest;
use serde::{Deserialize, Serialize};

/// Longest manifest, in bytes.
pub const MAX_MANIFEST: usize = 64 << 10;
/// Longest index, in bytes.
pub const MAX_INDEX: usize = 16 << 20;

/// What is signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// 1. Readers refuse any other.
    pub format: u32,
    /// What the image is of; must be the running image's.
    pub product: String,
    /// For people, and for `target_version`: a semantic version.
    pub version: String,
    /// Rises with every release of a product; what decides about older and newer.
    pub counter: u64,
    pub channel: String,
    /// The partition layout it was made for, `mbr-ab-1`; must be the card's.
    pub layout: String,
    /// Device-tree compatibles it runs on; one of them must be the board's.
    pub hardware: Vec<String>,
    /// Oldest bootloader (EEPROM) it starts with, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_eeprom: Option<u64>,
    /// Seconds since 1970.
    pub created: u64,
    /// Seconds since 1970; not installed from then on.
    pub expires: u64,
    /// Once this is committed, no image with a smaller counter may be started again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoke_below: Option<u64>,
    pub index: IndexRef,
    pub images: Vec<Image>,
}

/// The index that belongs to the manifest, and no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexRef {
    pub sha256: Digest,
    pub size: u64,
}

/// One area's new content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Image {
    pub kind: ImageKind,
    /// Bytes; what is left of the area after it is not written.
    pub size: u64,
    /// Of the whole image.
    pub sha256: Digest,
    /// Bytes; a power of two from 4 KiB to 1 MiB. The last block may be shorter.
    pub block_size: u32,
}

/// Which area of the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageKind {
    Boot,
    Root,
}
