//! Fetches blocks with several parallel requests, and verifies each block before it is passed on.

use super::{
    BundleSource, FetchError,
    body::ExactBody,
    fault::Then,
    pieces::{BlockOrder, BlockRun, StoredBlocks, WantedBlock, runs, wants},
    source::Haste,
};
use base::error::ToolError;
use bytes::Bytes;
use ring::digest::{Context, SHA256};
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::{sync::mpsc, task::JoinSet};
use update::bundle::Digest;

/// Number of finished blocks that are buffered, in addition to those being fetched.
const AHEAD: usize = 2;

/// Blocks being fetched. Dropping it cancels the rest.
pub struct Blocks {
    coming: mpsc::Receiver<Result<(u32, Bytes), ToolError>>,
    _requests: JoinSet<()>,
}

impl Blocks {
    /// The next block, with its number, in its stored form and with its hash verified. `None` after the last.
    pub async fn next(&mut self) -> Option<Result<(u32, Bytes), ToolError>> {
        self.coming.recv().await
    }
}

impl BundleSource {
    /// Fetches the blocks of `numbers`.
    pub fn blocks(
        self: &Arc<Self>,
        pieces: &Arc<dyn StoredBlocks>,
        numbers: impl IntoIterator<Item = u32>,
        order: BlockOrder,
    ) -> Blocks {
        let wants = wants(&**pieces, numbers, order);
        let queue = runs(&wants, self.limits().request_bytes);
        let side_by_side = if order == BlockOrder::Index { 1 } else { self.limits().requests.min(queue.len()).max(1) };
        let (ready, coming) = mpsc::channel(AHEAD);
        let shared = Arc::new(Shared {
            source: Arc::clone(self),
            pieces: Arc::clone(pieces),
            wants,
            queue: Mutex::new(queue.into()),
            ready,
            slow: AtomicBool::new(false),
        });
        let mut requests = JoinSet::new();
        for number in 0..side_by_side {
            let shared = Arc::clone(&shared);
            base::task::spawn_in(&mut requests, async move { shared.work(number).await });
        }
        Blocks { coming, _requests: requests }
    }
}

struct Shared {
    source: Arc<BundleSource>,
    pieces: Arc<dyn StoredBlocks>,
    wants: Vec<WantedBlock>,
    queue: Mutex<VecDeque<BlockRun>>,
    ready: mpsc::Sender<Result<(u32, Bytes), ToolError>>,
    /// A connection stalled, so only one request is made at a time from now on.
    slow: AtomicBool,
}

impl Shared {
    async fn work(&self, number: usize) {
        while let Some(run) = self.take(number) {
            if let Err(error) = self.bring(run).await {
                // The receiver is gone if another request had this error too.
                let _ = self.ready.send(Err(error)).await;
                self.queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
                return;
            }
        }
    }

    fn take(&self, number: usize) -> Option<BlockRun> {
        if number > 0 && self.slow.load(Ordering::Relaxed) {
            return None;
        }
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Fetches all blocks of a run, in as many attempts as needed.
    async fn bring(&self, mut run: BlockRun) -> Result<(), ToolError> {
        while !run.wants.is_empty() {
            self.source.in_time(Haste::Later).await?;
            let turn = self.source.route().turn()?;
            let ended = match self.attempt(&mut run, &turn).await {
                Ok(()) => continue,
                Err(Ended::Listener) => return Ok(()),
                Err(Ended::Fault(fault)) => fault,
            };
            if ended.then == Then::Stalled {
                self.slow.store(true, Ordering::Relaxed);
            }
            self.source.recover(&turn, ended, Haste::Later).await?;
        }
        Ok(())
    }

    /// One request. Complete blocks are removed from the run.
    async fn attempt(&self, run: &mut BlockRun, turn: &super::route::Turn) -> Result<(), Ended> {
        run.bytes.start = self.wants[run.wants.start].start;
        let source = &self.source;
        let opened =
            ExactBody::open(&source.http, &turn.place, run.bytes.clone(), turn.pinned.as_ref(), source.deadline).await;
        let (mut body, found) = opened?;
        source.route().found(turn, found)?;
        if body.left() < run.bytes.end - run.bytes.start {
            return Err(FetchError::elsewhere("the file is shorter than its index says").into());
        }
        let mut at = run.bytes.start;
        let mut rest = Bytes::new();
        while !run.wants.is_empty() {
            let want = self.wants[run.wants.start];
            let (stored, digest) = fill(source, &mut body, &mut rest, &mut at, want).await?;
            let sound = self.pieces.piece(want.n).is_some_and(|piece| piece.sha256 == digest);
            if !sound {
                let message = format!("block {} has another hash than the signed index says", want.n);
                return Err(FetchError::rotten(want.n, message).into());
            }
            source.route().progress();
            // Blocks with the same content may share their bytes.
            let same = |next: &WantedBlock| (next.start, next.length) == (want.start, want.length);
            while run.wants.start < run.wants.end && same(&self.wants[run.wants.start]) {
                let n = self.wants[run.wants.start].n;
                self.ready.send(Ok((n, stored.clone()))).await.map_err(|_| Ended::Listener)?;
                run.wants.start += 1;
            }
            if !run.wants.is_empty() && source.shut().is_some() {
                // The rest is fetched when the window opens again.
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Why an attempt ended before the end of its run.
enum Ended {
    /// The receiver is gone.
    Listener,
    Fault(FetchError),
}

impl From<FetchError> for Ended {
    fn from(fault: FetchError) -> Self {
        Self::Fault(fault)
    }
}

/// The bytes of `want` and their hash. `at` is the offset in the file of `rest`, which `body` continues. Bytes before
/// the block are skipped.
async fn fill(
    source: &BundleSource,
    body: &mut ExactBody<'_>,
    rest: &mut Bytes,
    at: &mut u64,
    want: WantedBlock,
) -> Result<(Bytes, Digest), FetchError> {
    let length = want.length as usize;
    let mut stored = Vec::with_capacity(length);
    // Hashed in chunks as they arrive, so that no other task waits for the hash of a megabyte.
    let mut hash = Context::new(&SHA256);
    while stored.len() < length {
        if rest.is_empty() {
            *rest = body.next().await?.ok_or_else(|| FetchError::again("it ended before its last block"))?;
            source.count(rest.len());
        }
        let skipped = usize::try_from(want.start.saturating_sub(*at)).map_or(rest.len(), |gap| gap.min(rest.len()));
        let taken = rest.split_to(skipped);
        *at += taken.len() as u64;
        let taken = rest.split_to(rest.len().min(if *at < want.start { 0 } else { length - stored.len() }));
        *at += taken.len() as u64;
        hash.update(&taken);
        stored.extend_from_slice(&taken);
    }
    let mut digest = [0; 32];
    digest.copy_from_slice(hash.finish().as_ref());
    Ok((stored.into(), Digest(digest)))
}
