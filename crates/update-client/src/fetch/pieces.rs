//! The bytes of a bundle to be fetched, and the requests for them.

use std::ops::Range;
use update::bundle::{self, Digest};

/// One stored block of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBlock {
    /// Its number in the index.
    pub n: u32,
    /// Its range in the file.
    pub stored: Range<u64>,
    /// The hash of these stored bytes.
    pub sha256: Digest,
}

/// The blocks of a bundle by number, from its verified index.
pub trait StoredBlocks: Send + Sync {
    /// Block `n`; `None` if it has no bytes (a block of zeros) or does not exist.
    fn piece(&self, n: u32) -> Option<StoredBlock>;
}

impl StoredBlocks for bundle::BlockIndex {
    fn piece(&self, n: u32) -> Option<StoredBlock> {
        let block = (n < self.len()).then(|| self.block(n)).filter(|block| !block.zero)?;
        Some(StoredBlock { n, stored: block.stored, sha256: block.stored_sha256 })
    }
}

/// A wanted block: its range in the file, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WantedBlock {
    pub start: u64,
    pub length: u32,
    pub n: u32,
}

impl WantedBlock {
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }
}

/// One request: the range of wanted blocks, in the order of the file, and their range of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BlockRun {
    pub wants: Range<usize>,
    pub bytes: Range<u64>,
}

/// The order in which blocks are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockOrder {
    /// The fastest order, for a spool.
    Any,
    /// By their numbers, one request after the other, for callers that cannot store them.
    Index,
}

/// The share of additional bytes that may be fetched to combine adjacent blocks into one request: 1/50, 2 %.
const VAIN: u64 = 50;
/// The longest gap that is fetched: about the size of the headers of a request and its answer.
const GAP: u64 = 2048;

/// The wanted blocks of `numbers`, in the order of the file or of their numbers, without those that have no bytes.
pub(super) fn wants(
    pieces: &dyn StoredBlocks,
    numbers: impl IntoIterator<Item = u32>,
    order: BlockOrder,
) -> Vec<WantedBlock> {
    let of = |n| {
        let piece = pieces.piece(n)?;
        let length =
            u32::try_from(piece.stored.end.checked_sub(piece.stored.start)?).ok().filter(|length| *length > 0)?;
        Some(WantedBlock { start: piece.stored.start, length, n })
    };
    let mut wants: Vec<WantedBlock> = numbers.into_iter().filter_map(of).collect();
    match order {
        BlockOrder::Any => base::sort::sort(&mut wants),
        BlockOrder::Index => base::sort::sort_by_key(&mut wants, |want| want.n),
    }
    wants
}

/// Number of bytes of the bundle that `wants`, in the order of the file, cover; shared bytes are counted once.
pub(super) fn bytes(wants: &[WantedBlock]) -> u64 {
    let mut end = 0;
    wants.iter().fold(0, |sum, want| {
        let new = want.end().saturating_sub(want.start.max(end));
        end = end.max(want.end());
        sum + new
    })
}

/// Requests for `wants`, each of at most `longest` bytes, or one block.
pub(super) fn runs(wants: &[WantedBlock], longest: u64) -> Vec<BlockRun> {
    let bridged = bridges(wants);
    let mut runs: Vec<BlockRun> = Vec::new();
    for (at, want) in wants.iter().enumerate() {
        if let Some(run) = runs.last_mut() {
            // The same bytes again, or those that follow. Any other overlap is a separate request.
            let again = at > 0 && (wants[at - 1].start, wants[at - 1].length) == (want.start, want.length);
            let follows = want.start >= run.bytes.end && want.start - run.bytes.end <= bridged;
            if again || follows && want.end() - run.bytes.start <= longest {
                run.wants.end = at + 1;
                run.bytes.end = run.bytes.end.max(want.end());
                continue;
            }
        }
        runs.push(BlockRun { wants: at..at + 1, bytes: want.start..want.end() });
    }
    runs
}

/// The longest gap between two wanted blocks that is fetched too: the shortest gaps are included while their total is
/// within the allowed share.
fn bridges(wants: &[WantedBlock]) -> u64 {
    let mut gaps: Vec<u64> = wants
        .windows(2)
        .filter_map(|pair| pair[1].start.checked_sub(pair[0].end()))
        .filter(|gap| (1..=GAP).contains(gap))
        .collect();
    base::sort::sort(&mut gaps);
    let mut left = wants.iter().map(|want| u64::from(want.length)).sum::<u64>() / VAIN;
    let mut longest = 0;
    for (at, gap) in gaps.iter().enumerate() {
        let Some(rest) = left.checked_sub(*gap) else {
            // Either all gaps of one length or none of them.
            return if gaps[..at].last() == Some(gap) { gap - 1 } else { longest };
        };
        (left, longest) = (rest, *gap);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Even(u32);

    impl StoredBlocks for Even {
        fn piece(&self, n: u32) -> Option<StoredBlock> {
            let at = 1000 + u64::from(n) * 100;
            (n < self.0).then(|| StoredBlock { n, stored: at..at + 100, sha256: Digest([0; 32]) })
        }
    }

    fn planned(numbers: &[u32], longest: u64) -> Vec<Range<u64>> {
        runs(&wants(&Even(1000), numbers.iter().copied(), BlockOrder::Any), longest)
            .into_iter()
            .map(|run| run.bytes)
            .collect()
    }

    #[test]
    fn neighbours_are_one_request() {
        assert_eq!(planned(&[0, 1, 2, 7, 8, 20], 1 << 20), [1000..1300, 1700..1900, 3000..3100]);
        assert_eq!(planned(&[8, 0, 2, 1, 7, 20], 1 << 20).len(), 3, "in whatever order they are named");
        assert_eq!(planned(&[0, 1, 2, 3], 200), [1000..1200, 1200..1400]);
        assert_eq!(planned(&[0], 10)[0], 1000..1100, "one block is not cut");
        assert_eq!(planned(&[], 10), []);
        assert_eq!(planned(&[5000], 10), [], "there is no such block");
    }

    #[test]
    fn a_gap_is_fetched_along_where_it_costs_less_than_a_request_and_little_in_all() {
        // 200 wanted blocks of 100 bytes allow 400 additional bytes: four gaps of one block, not five.
        let with = |gaps: u32| (0..200 + gaps).filter(|n| n % 20 != 7 || *n >= gaps * 20).collect::<Vec<_>>();
        assert_eq!(planned(&with(4), 1 << 20).len(), 1);
        assert_eq!(planned(&with(5), 1 << 20).len(), 6);
    }

    #[test]
    fn what_blocks_share_is_fetched_once() {
        let same = |n| WantedBlock { start: 50, length: 100, n };
        let wants = [same(1), same(2), WantedBlock { start: 150, length: 10, n: 3 }];
        assert_eq!(runs(&wants, 1000), [BlockRun { wants: 0..3, bytes: 50..160 }]);
        assert_eq!(bytes(&wants), 110);
        // A signed index with overlapping blocks: every block is fetched.
        let overlapping = [same(1), WantedBlock { start: 100, length: 100, n: 2 }];
        assert_eq!(runs(&overlapping, 1000).len(), 2);
    }
}
