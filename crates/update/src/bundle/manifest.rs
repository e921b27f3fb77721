//! The manifest: what a bundle is, for which devices, and the hash of the rest. JSON; its exact bytes are signed.

use super::{BundleError, Changes, Digest, ENTRY, is_time, is_version, is_word, strict, words::MAX_NUMBER};
use serde::{Deserialize, Serialize};

/// Longest manifest, in bytes.
pub const MAX_MANIFEST: usize = 64 << 10;
/// Longest index, in bytes.
pub const MAX_INDEX: usize = 16 << 20;

/// The signed content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Must be 1; readers refuse any other.
    pub format: u32,
    /// The product; must be the running image's.
    pub product: String,
    /// A semantic version, for people and for `target_version`.
    pub version: String,
    /// Rises with every release of a product; determines which release is newer.
    pub counter: u64,
    pub channel: String,
    /// The partition layout, such as `mbr-ab-1`; must be the card's.
    pub layout: String,
    /// Compatible boards by device-tree compatible; one must be the board's.
    pub hardware: Vec<String>,
    /// Oldest bootloader (EEPROM) that it works with, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_eeprom: Option<u64>,
    /// Seconds since 1970.
    pub created: u64,
    /// Seconds since 1970; not installed from then on.
    pub expires: u64,
    /// Once this is committed, images with a smaller counter may not be started again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoke_below: Option<u64>,
    /// The settings that its program knows, `section.key`, sorted; empty: not stated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub config_keys: Vec<String>,
    /// What it drops, renames and adds, if it says so.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub changes: Changes,
    pub index: IndexRef,
    /// The root image, then the boot image: the order in which they are stored and written.
    pub images: Vec<Image>,
}

const WHAT: &str = "the manifest";
/// Most compatibles in `hardware`.
const MAX_HARDWARE: usize = 64;
/// Most `config_keys`: today's program has 110.
const MAX_KEYS: usize = 512;

impl Manifest {
    /// Parses and checks one. To trust its content, verify the signatures over `bytes` first
    /// ([`crate::trust::RootOfTrust::verify_release`]); if it is only displayed, say that it is unverified.
    ///
    /// # Errors
    /// [`BundleError::Malformed`], [`BundleError::Format`], [`BundleError::TooLong`].
    pub fn parse(bytes: &[u8]) -> Result<Self, BundleError> {
        if bytes.len() > MAX_MANIFEST {
            return Err(BundleError::TooLong {
                what: WHAT.into(),
                size: bytes.len() as u64,
                limit: MAX_MANIFEST as u64,
            });
        }
        let manifest: Self = strict(bytes, WHAT)?;
        manifest.check()?;
        Ok(manifest)
    }

    /// Whether its values are within their bounds and consistent.
    ///
    /// # Errors
    /// As [`Manifest::parse`].
    pub fn check(&self) -> Result<(), BundleError> {
        if self.format != 1 {
            return Err(BundleError::Format { what: WHAT.into(), format: self.format.into(), reads: 1 });
        }
        let sure = |fits: bool, problem: &str| if fits { Ok(()) } else { Err(BundleError::malformed(WHAT, problem)) };
        let hardware = &self.hardware;
        let distinct = (1..hardware.len()).all(|n| !hardware[..n].contains(&hardware[n]));
        sure(is_word(&self.product), "product is not a plain word")?;
        sure(is_version(&self.version), "version is not a semantic version")?;
        sure((1..=MAX_NUMBER).contains(&self.counter), "counter is not from 1 to 2^53 - 1")?;
        sure(is_word(&self.channel), "channel is not a plain word")?;
        sure(is_word(&self.layout), "layout is not a plain word")?;
        sure((1..=MAX_HARDWARE).contains(&hardware.len()), "hardware does not have 1 to 64 entries")?;
        sure(
            hardware.iter().all(|one| is_word(one)) && distinct,
            "hardware has an entry twice, or one that is no plain word",
        )?;
        sure(self.min_eeprom.is_none_or(is_time), "min_eeprom is no time")?;
        sure(is_time(self.expires) && self.created < self.expires, "expires is no time after created")?;
        sure(
            self.revoke_below.is_none_or(|below| (1..=self.counter).contains(&below)),
            "revoke_below is not from 1 to counter",
        )?;
        sure(self.config_keys.len() <= MAX_KEYS, "config_keys has more than 512 entries")?;
        sure(
            self.config_keys.iter().all(|key| is_word(key)) && self.config_keys.is_sorted_by(|one, next| one < next),
            "config_keys has an entry that is no plain word, or is out of order",
        )?;
        self.changes.check(self)?;
        let kinds: Vec<_> = self.images.iter().map(|image| image.kind).collect();
        sure(
            kinds == [ImageKind::Root, ImageKind::Boot],
            "images are not one root image and one boot image, in this order",
        )?;
        for image in &self.images {
            image.check()?;
        }
        let blocks = self.images.iter().try_fold(0u64, |sum, image| sum.checked_add(image.blocks()));
        let size = blocks.and_then(|blocks| blocks.checked_mul(ENTRY as u64));
        sure(size == Some(self.index.size), "index.size is not 68 bytes for each block of the images")?;
        sure(self.index.size <= MAX_INDEX as u64, "its index is longer than 16 MiB: take larger blocks")
    }

    /// The image of this kind; every checked manifest has one.
    pub fn image(&self, kind: ImageKind) -> Option<&Image> {
        self.images.iter().find(|image| image.kind == kind)
    }

    /// Whether its program knows a setting, `section.key`; for `policy.<tool>` knowing `policy` suffices. `None`: not
    /// stated.
    pub fn knows_setting(&self, key: &str) -> Option<bool> {
        if self.became_of(key).is_some() {
            return Some(false);
        }
        let known = |key: &str| self.config_keys.binary_search_by(|known| known.as_str().cmp(key)).is_ok();
        let section = key.split_once('.').map_or(key, |(section, _)| section);
        (!self.config_keys.is_empty()).then(|| known(key) || known(section))
    }

    /// What became of a setting that it dropped or renamed, for people.
    pub fn became_of(&self, key: &str) -> Option<String> {
        self.changes.settings.describe(key, &self.version)
    }

    /// Whether it may be installed at `now` (seconds since 1970, from the time floor, never from the clock alone).
    ///
    /// # Errors
    /// [`BundleError::Expired`].
    pub fn fresh(&self, now: u64) -> Result<(), BundleError> {
        if now < self.expires {
            Ok(())
        } else {
            Err(BundleError::Expired { what: format!("version {}", self.version), expired: self.expires, now })
        }
    }

    /// Whether it can have been created by `latest` (seconds since 1970): once committed, its time is the floor for
    /// everything after it.
    ///
    /// # Errors
    /// [`BundleError::Future`].
    pub fn made_by(&self, latest: u64) -> Result<(), BundleError> {
        if self.created <= latest {
            return Ok(());
        }
        Err(BundleError::Future { what: format!("version {}", self.version), created: self.created, latest })
    }
}

/// The reference to the manifest's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexRef {
    pub sha256: Digest,
    pub size: u64,
}

/// New content of one area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Image {
    pub kind: ImageKind,
    /// Size in bytes, a multiple of 512; the rest of the area is not written.
    pub size: u64,
    /// SHA-256 of the whole image.
    pub sha256: Digest,
    /// Bytes; a power of two from 4 KiB to 1 MiB. The last block may be shorter.
    pub block_size: u32,
}

/// The area of the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageKind {
    Boot,
    Root,
}

/// Smallest and largest block in bytes: below, the index would cost more than it saves; above, a reader would need more
/// memory.
const BLOCK_SIZES: std::ops::RangeInclusive<u32> = 4 << 10..=1 << 20;

impl Image {
    /// How many blocks it has.
    pub const fn blocks(&self) -> u64 {
        self.size.div_ceil(self.block_size as u64)
    }

    fn check(&self) -> Result<(), BundleError> {
        let wrong =
            |problem: &str| Err(BundleError::malformed(format!("{WHAT}'s {} image", self.kind.name()), problem));
        if self.size == 0 || !self.size.is_multiple_of(512) || self.size > MAX_NUMBER {
            return wrong("size is not some sectors of 512 bytes");
        }
        if !BLOCK_SIZES.contains(&self.block_size) || !self.block_size.is_power_of_two() {
            return wrong("block_size is not a power of two from 4096 to 1048576");
        }
        Ok(())
    }
}

impl ImageKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Boot => "boot",
            Self::Root => "root",
        }
    }
}
