//! The writer thread: while it waits for the card, the other one hashes and unpacks.
//!
//! It flushes when it is idle and [`STEP`] bytes are due, and at the latest after [`BATCH`]. So the card is always
//! busy, and memory and page cache stay small.

use super::hooks::{InstallObserver, Point};
use crate::{bundle::ImageKind, disk::BlockDevice};
use base::error::{ErrorCode, ToolError};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel},
    },
    thread::JoinHandle,
};

/// Limit of queued bytes, and bytes worth a flush: 13 ms of a good SD card.
const STEP: usize = 512 << 10;
/// Bytes after which a flush comes before anything else.
const BATCH: usize = 4 << 20;

/// The two areas of a slot.
pub(super) struct SlotAreas {
    pub boot: Box<dyn BlockDevice>,
    pub root: Box<dyn BlockDevice>,
}

impl SlotAreas {
    pub fn area(&self, image: ImageKind) -> &dyn BlockDevice {
        match image {
            ImageKind::Boot => &*self.boot,
            ImageKind::Root => &*self.root,
        }
    }

    /// Returns when all writes are on the medium.
    pub fn flush(&self) -> Result<(), ToolError> {
        self.root.flush().and_then(|()| self.boot.flush()).map_err(|error| card("flushing the target slot", &error))
    }
}

struct Job {
    image: ImageKind,
    at: u64,
    bytes: Vec<u8>,
}

/// Handle of the thread. Dropping it waits until the queue is written, so that the target is free afterwards.
pub(super) struct SlotWriter {
    jobs: Option<SyncSender<Job>>,
    /// Used buffers, to be reused.
    free: Receiver<Vec<u8>>,
    flushed: Arc<AtomicU64>,
    thread: Option<JoinHandle<(SlotAreas, Result<(), ToolError>)>>,
}

impl SlotWriter {
    /// Starts it, for blocks of `block_size` bytes.
    ///
    /// # Errors
    /// `resource_exhausted` when no thread can be started; the target is closed then.
    pub fn start(target: SlotAreas, block_size: u32, watch: Arc<dyn InstallObserver>) -> Result<Self, ToolError> {
        // A dedicated thread, not one of a pool: it lives as long as the install.
        let (jobs, queue) = sync_channel((STEP / block_size.max(1) as usize).max(2));
        let (give, free) = channel();
        let flushed = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&flushed);
        let thread = std::thread::Builder::new()
            .name("install-write".into())
            .spawn(move || {
                let result = work(&target, &queue, &give, &count, &*watch);
                (target, result)
            })
            .map_err(|error| ToolError::exhausted(format!("no thread to write with: {error}")))?;
        Ok(Self { jobs: Some(jobs), free, flushed, thread: Some(thread) })
    }

    /// An empty buffer: a used one, or a new one until the queue is full for the first time.
    pub fn buffer(&self) -> Vec<u8> {
        let mut buffer = self.free.try_recv().unwrap_or_default();
        buffer.clear();
        buffer
    }

    /// Queues a write; blocks while the queue is full.
    ///
    /// # Errors
    /// The error of an earlier write.
    pub fn write(&mut self, image: ImageKind, at: u64, bytes: Vec<u8>) -> Result<(), ToolError> {
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(Job { image, at, bytes }).is_ok());
        if sent {
            return Ok(());
        }
        match self.end() {
            Ok((_, Err(error))) | Err(error) => Err(error),
            Ok((_, Ok(()))) => Err(ToolError::internal("the writing thread ended early")),
        }
    }

    /// Bytes on the medium.
    pub fn flushed(&self) -> u64 {
        self.flushed.load(Ordering::Relaxed)
    }

    /// Waits until everything queued is on the medium, and returns the target.
    ///
    /// # Errors
    /// The error of any write or flush.
    pub fn finish(mut self) -> Result<SlotAreas, ToolError> {
        let (target, result) = self.end()?;
        result.map(|()| target)
    }

    fn end(&mut self) -> Result<(SlotAreas, Result<(), ToolError>), ToolError> {
        // Dropping the sender ends the thread's queue.
        self.jobs = None;
        let thread = self.thread.take().ok_or_else(|| ToolError::internal("the writing thread was awaited twice"))?;
        thread.join().map_err(|_| ToolError::internal("the writing thread panicked"))
    }
}

impl Drop for SlotWriter {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // Its errors were reported already.
            let _ = thread.join();
        }
    }
}

fn work(
    target: &SlotAreas,
    queue: &Receiver<Job>,
    give: &Sender<Vec<u8>>,
    flushed: &AtomicU64,
    watch: &dyn InstallObserver,
) -> Result<(), ToolError> {
    let mut dirty = 0;
    let flush = |dirty: &mut usize| {
        target.flush()?;
        flushed.fetch_add(*dirty as u64, Ordering::Relaxed);
        *dirty = 0;
        watch.passed(Point::Flushed);
        Ok::<(), ToolError>(())
    };
    loop {
        let next = match queue.try_recv() {
            Err(TryRecvError::Empty) if dirty >= STEP => {
                flush(&mut dirty)?;
                continue;
            }
            Err(TryRecvError::Empty) => queue.recv().ok(),
            job => job.ok(),
        };
        let Some(Job { image, at, bytes }) = next else { break };
        let what = || format!("writing {} bytes at {at} of the target's {} area", bytes.len(), image.name());
        target.area(image).write(at, &bytes).map_err(|error| card(&what(), &error))?;
        watch.passed(Point::WroteBlock);
        dirty += bytes.len();
        // The receiver may be gone.
        let _ = give.send(bytes);
        if dirty >= BATCH {
            flush(&mut dirty)?;
        }
    }
    flush(&mut dirty)
}

/// The card's error. It does not affect the running system, and says so.
pub(super) fn card(what: &str, error: &io::Error) -> ToolError {
    let code =
        if error.kind() == io::ErrorKind::StorageFull { ErrorCode::ResourceExhausted } else { ErrorCode::Unavailable };
    ToolError::new(code, format!("{what} failed: {error}"))
        .with("running_slot_untouched", true)
        .hint("the running system is as it was; look at the kernel's log for the card, then start the update again: it goes on from there")
}
