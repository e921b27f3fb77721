//! The front of a bundle: fixed preamble, manifest, signatures. Untrusted bytes, checked against bounds first.

use super::{BundleError, Digest, MAX_INDEX, MAX_MANIFEST, Signature};

/// First bytes of every bundle. Like PNG's, they reveal a transfer that changes line endings or clears the eighth bit.
const MAGIC: [u8; 8] = *b"\x89RPB\r\n\x1a\n";
const FORMAT: u32 = 1;
/// Size of the preamble: magic, format, lengths of the manifest, the index and the blocks, four bytes of zero.
pub const PREAMBLE: usize = 32;
/// Signature slots. They are always present, so that signing changes 96 bytes and moves none.
pub const MAX_SIGNATURES: usize = 16;
const SIGNATURE: usize = 96;
/// Size of the signature slots in bytes.
pub const SIGNATURES_SIZE: usize = MAX_SIGNATURES * SIGNATURE;
/// Longest head: the most that must be read before an envelope is complete.
pub const MAX_HEAD: usize = PREAMBLE + MAX_MANIFEST + SIGNATURES_SIZE;
const WHAT: &str = "the bundle's head";

/// A bundle's head. Untrusted until [`super::super::trust::RootOfTrust::verify_release`] accepts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The exact bytes that are signed.
    pub manifest: Vec<u8>,
    pub signatures: Vec<Signature>,
    /// Where the index starts, which is also the length of the head. In bytes from the start of the bundle, like all
    /// positions here.
    pub index_at: u64,
    /// Where the blocks start and the index ends.
    pub blocks_at: u64,
    /// Size of the bundle in bytes.
    pub total: u64,
}

/// The result of parsing a bundle's first bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BundleHead {
    Whole(Envelope),
    /// This many bytes from the start are needed; at most [`MAX_HEAD`].
    More(usize),
}

impl Envelope {
    /// A head for this manifest, with empty signature slots, and an index and blocks of these lengths.
    ///
    /// # Errors
    /// [`BundleError::TooLong`].
    pub fn new(manifest: Vec<u8>, index: u64, blocks: u64) -> Result<Self, BundleError> {
        at_most("the manifest", manifest.len() as u64, MAX_MANIFEST as u64)?;
        at_most("the index", index, MAX_INDEX as u64)?;
        let index_at = (PREAMBLE + manifest.len() + SIGNATURES_SIZE) as u64;
        let blocks_at = index_at + index;
        let total =
            blocks_at.checked_add(blocks).ok_or_else(|| BundleError::malformed(WHAT, "its lengths overflow"))?;
        Ok(Self { manifest, signatures: Vec::new(), index_at, blocks_at, total })
    }

    /// Parses the head of a bundle; bytes after the head are ignored.
    ///
    /// # Errors
    /// [`BundleError::Malformed`], [`BundleError::Format`], [`BundleError::TooLong`]: detected as early as possible.
    pub fn read(head: &[u8]) -> Result<BundleHead, BundleError> {
        let known = head.len().min(MAGIC.len());
        if head[..known] != MAGIC[..known] {
            return Err(BundleError::malformed("the bundle", "it does not start as bundles do"));
        }
        let Some(preamble) = head.first_chunk::<PREAMBLE>() else { return Ok(BundleHead::More(PREAMBLE)) };
        let word = |at: usize| u32::from_le_bytes([preamble[at], preamble[at + 1], preamble[at + 2], preamble[at + 3]]);
        if word(8) != FORMAT {
            return Err(BundleError::Format {
                what: "the bundle".into(),
                format: word(8).into(),
                reads: FORMAT.into(),
            });
        }
        let blocks = u64::from(word(20)) | u64::from(word(24)) << 32;
        if word(28) != 0 {
            return Err(BundleError::malformed(WHAT, "bytes 28 to 31 are not zero"));
        }
        if word(12) == 0 || word(16) == 0 {
            return Err(BundleError::malformed(WHAT, "its manifest or its index is empty"));
        }
        at_most("the manifest", word(12).into(), MAX_MANIFEST as u64)?;
        let whole = PREAMBLE + word(12) as usize + SIGNATURES_SIZE;
        // The lengths are checked with an empty manifest: its bytes may be missing still.
        Self::new(Vec::new(), word(16).into(), blocks)?;
        if head.len() < whole {
            return Ok(BundleHead::More(whole));
        }
        let (manifest, room) = head[PREAMBLE..whole].split_at(word(12) as usize);
        let envelope = Self::new(manifest.to_vec(), word(16).into(), blocks)?;
        Ok(BundleHead::Whole(Self { signatures: signatures(room)?, ..envelope }))
    }

    /// Its bytes: the bundle up to the index.
    ///
    /// # Errors
    /// [`BundleError::TooLong`] for more than [`MAX_SIGNATURES`], or lengths beyond their bounds.
    pub fn encode(&self) -> Result<Vec<u8>, BundleError> {
        at_most("the manifest", self.manifest.len() as u64, MAX_MANIFEST as u64)?;
        at_most("the list of signatures", self.signatures.len() as u64, MAX_SIGNATURES as u64)?;
        let wrong = || BundleError::malformed(WHAT, "its lengths do not fit each other");
        let index = self.blocks_at.checked_sub(self.index_at).and_then(|size| u32::try_from(size).ok());
        let blocks = self.total.checked_sub(self.blocks_at).ok_or_else(wrong)?;
        let mut head = Vec::with_capacity(MAX_HEAD.min(PREAMBLE + self.manifest.len() + SIGNATURES_SIZE));
        head.extend_from_slice(&MAGIC);
        head.extend_from_slice(&FORMAT.to_le_bytes());
        head.extend_from_slice(&(self.manifest.len() as u32).to_le_bytes());
        head.extend_from_slice(&index.ok_or_else(wrong)?.to_le_bytes());
        head.extend_from_slice(&blocks.to_le_bytes());
        head.extend_from_slice(&[0; 4]);
        head.extend_from_slice(&self.manifest);
        for signature in &self.signatures {
            head.extend_from_slice(&signature.key_id.0);
            head.extend_from_slice(&signature.signature);
        }
        head.resize(PREAMBLE + self.manifest.len() + SIGNATURES_SIZE, 0);
        if head.len() as u64 == self.index_at { Ok(head) } else { Err(wrong()) }
    }

    /// Size of the index in bytes.
    pub const fn index_size(&self) -> u64 {
        self.blocks_at - self.index_at
    }
}

/// The signatures in their slots: used slots come first, the others are zero.
fn signatures(room: &[u8]) -> Result<Vec<Signature>, BundleError> {
    let mut found: Vec<Signature> = Vec::new();
    let mut ended = false;
    for slot in room.as_chunks::<SIGNATURE>().0 {
        if slot.iter().all(|byte| *byte == 0) {
            ended = true;
            continue;
        }
        let mut signature = Signature { key_id: Digest([0; 32]), signature: [0; 64] };
        signature.key_id.0.copy_from_slice(&slot[..32]);
        signature.signature.copy_from_slice(&slot[32..]);
        if ended {
            return Err(BundleError::malformed(WHAT, "there is a gap between its signatures"));
        }
        if found.iter().any(|other| other.key_id == signature.key_id) {
            return Err(BundleError::malformed(WHAT, format!("key {} has signed twice", signature.key_id)));
        }
        found.push(signature);
    }
    Ok(found)
}

fn at_most(what: &str, size: u64, limit: u64) -> Result<(), BundleError> {
    if size > limit { Err(BundleError::TooLong { what: what.into(), size, limit }) } else { Ok(()) }
}
