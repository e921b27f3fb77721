//! Bundles that no builder makes, properly signed: what a signer who is careless, or whose tools were bent, could publish.

use crate::update::{a_boot, a_bundle_of, a_key, a_plan, an_image, envelope, roots};
use ::update::{
    bundle::{BlockIndex, BundleError, Digest, ENTRY, Envelope},
    trust::{Purpose, VerifiedRelease},
};
use serde_json::{Value, json};

/// Few blocks, so that a test can bend each of them.
pub const BLOCK: u32 = 64 << 10;

pub struct Crafted {
    pub manifest: Value,
    pub index: Vec<u8>,
    pub blocks: Vec<u8>,
}

impl Crafted {
    /// Of a sound bundle: a root image of two blocks and a half, and a boot image of 4 MiB.
    pub fn sound() -> Self {
        let plan = update::bundle::BundleContent { block_size: BLOCK, ..a_plan("1.2.3", 7) };
        let bundle = a_bundle_of(&plan, &a_boot(4 << 20, &[]), &an_image(160 << 10, 5), &[]);
        let envelope = envelope(&bundle);
        let (index, blocks) = (envelope.index_at as usize, envelope.blocks_at as usize);
        Self {
            manifest: serde_json::from_slice(&envelope.manifest).unwrap(),
            index: bundle[index..blocks].to_vec(),
            blocks: bundle[blocks..].to_vec(),
        }
    }

    /// Puts other bytes where the first block was, with hashes that fit them.
    pub fn first_block(&mut self, stored: &[u8], raw: &[u8]) {
        let old = u32::from_le_bytes(self.index[..4].try_into().unwrap()) as usize;
        self.blocks.splice(..old, stored.iter().copied());
        self.index[..4].copy_from_slice(&(stored.len() as u32).to_le_bytes());
        self.index[4..36].copy_from_slice(&Digest::of(stored).0);
        self.index[36..68].copy_from_slice(&Digest::of(raw).0);
    }

    /// The entry of block `n`.
    pub fn entry(&mut self, n: usize) -> &mut [u8] {
        &mut self.index[n * ENTRY..(n + 1) * ENTRY]
    }

    /// The bytes of the manifest that names this index.
    pub fn text(&self) -> Vec<u8> {
        let mut manifest = self.manifest.clone();
        manifest["index"] = json!({"sha256": Digest::of(&self.index), "size": self.index.len()});
        serde_json::to_vec(&manifest).unwrap()
    }

    /// Signed as it is.
    pub fn release(&self) -> Result<VerifiedRelease, BundleError> {
        let mut envelope = Envelope::new(self.text(), self.index.len() as u64, self.blocks.len() as u64)?;
        envelope.signatures = [11, 12].map(|key| a_key(key).sign(Purpose::Release, &envelope.manifest)).to_vec();
        roots().verify_release(&envelope)
    }

    pub fn index(&self) -> Result<BlockIndex, BundleError> {
        self.release()?.index(self.index.clone())
    }

    /// What unpacking the first block says, and what it left.
    pub fn unpack_first(&self) -> (Result<(), BundleError>, Vec<u8>) {
        let block = self.index().unwrap().block(0);
        let length = (block.stored.end - block.stored.start) as usize;
        let mut raw = vec![1; 9];
        let said = update::bundle::unpack(&block, &self.blocks[..length], &mut raw);
        (said, raw)
    }
}
