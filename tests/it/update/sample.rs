//! Blocks to fetch, without a bundle around them: what `fetch` sees of one.

use ::update::bundle::Digest;
use base::os::blocking::StopSignal;
use std::{ops::Range, path::Path, sync::Arc};
use update_client::fetch::{BundleSource, Spool, StoredBlock, StoredBlocks};

/// A file of some head and then blocks of all lengths; every tenth is one of zeros and has no bytes.
pub struct Sample {
    pub file: Vec<u8>,
    stored: Vec<Range<u64>>,
    hashes: Vec<Digest>,
}

/// Bytes that do not repeat, the same in every run.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
    .take(length)
    .collect()
}

pub const HEAD: usize = 3000;

impl Sample {
    pub fn of(blocks: usize, longest: usize) -> Arc<Self> {
        let mut file = noise(1, HEAD);
        let (mut stored, mut hashes) = (Vec::new(), Vec::new());
        for n in 0..blocks {
            let length = if n % 10 == 9 { 0 } else { longest / 2 + n * 7919 % (longest / 2) };
            let bytes = noise(n as u64 + 2, length);
            stored.push(file.len() as u64..(file.len() + length) as u64);
            hashes.push(Digest::of(&bytes));
            file.extend(bytes);
        }
        Arc::new(Self { file, stored, hashes })
    }

    pub fn pieces(self: &Arc<Self>) -> Arc<dyn StoredBlocks> {
        Arc::clone(self) as Arc<dyn StoredBlocks>
    }

    pub fn all(&self) -> Vec<u32> {
        (0..self.stored.len() as u32).collect()
    }

    pub fn length(&self, n: u32) -> u64 {
        let stored = &self.stored[n as usize];
        stored.end - stored.start
    }

    pub fn bytes_of(&self, numbers: &[u32]) -> u64 {
        numbers.iter().map(|n| self.length(*n)).sum()
    }

    pub fn block(&self, n: u32) -> &[u8] {
        let stored = &self.stored[n as usize];
        &self.file[stored.start as usize..stored.end as usize]
    }

    pub fn spool(self: &Arc<Self>, dir: &Path) -> Spool {
        self.try_spool(dir, 0).unwrap()
    }

    pub fn try_spool(self: &Arc<Self>, dir: &Path, reserve: u64) -> Result<Spool, base::error::ToolError> {
        Spool::open(dir, &Digest::of(&self.file), self.pieces(), self.all(), reserve, &StopSignal::of("test"))
    }

    /// Whether everything is there, and as it was published.
    pub fn check(&self, mut spool: Spool) {
        for n in self.all().into_iter().filter(|n| self.length(*n) > 0) {
            assert_eq!(spool.take(n).unwrap(), self.block(n), "block {n}");
        }
    }

    pub async fn download(
        self: &Arc<Self>,
        source: &Arc<BundleSource>,
        dir: &Path,
    ) -> Result<Spool, base::error::ToolError> {
        update_client::fetch::download(source, &self.pieces(), self.spool(dir), self.all(), |_| {}).await
    }
}

impl StoredBlocks for Sample {
    fn piece(&self, n: u32) -> Option<StoredBlock> {
        let stored = self.stored.get(n as usize)?.clone();
        (!stored.is_empty()).then(|| StoredBlock { n, stored, sha256: self.hashes[n as usize] })
    }
}
