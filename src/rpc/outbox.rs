//! The way out of a connection, bounded in bytes: a client that does not read stops being read.

use super::batch::{Collector, Out};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Bytes that may wait for a slow reader, those on their way to it included; with half of them waiting no further request is taken.
const BUDGET: usize = 256 * 1024;
/// Messages that may wait.
const QUEUE: usize = 64;

/// Where answers and notifications of one connection go.
#[derive(Clone)]
pub struct Outbox {
    queue: mpsc::Sender<(Out, Option<OwnedSemaphorePermit>)>,
    budget: Arc<Semaphore>,
}

/// The other end: messages in the order they leave, batches joined.
pub struct Outgoing {
    queue: mpsc::Receiver<(Out, Option<OwnedSemaphorePermit>)>,
    collector: Collector,
    /// Of the messages that are being written.
    held: Vec<OwnedSemaphorePermit>,
}

/// `answer_bytes`: the longest answer that is sent, which the answers of a batch may not exceed together.
pub fn outbox(answer_bytes: usize) -> (Outbox, Outgoing) {
    let (sender, receiver) = mpsc::channel(QUEUE);
    (
        Outbox { queue: sender, budget: Arc::new(Semaphore::new(BUDGET)) },
        Outgoing { queue: receiver, collector: Collector::new(answer_bytes), held: Vec::new() },
    )
}

impl Outbox {
    /// Queues `out`; waits while the reader is too far behind. Silent when the connection is gone.
    pub async fn send(&self, out: Out) {
        let permit = Arc::clone(&self.budget).acquire_many_owned(weight(&out)).await.ok();
        let _ = self.queue.send((out, permit)).await;
    }

    /// Queues a notification if there is room now: progress is worth less than memory.
    pub fn offer(&self, bytes: Vec<u8>) {
        let out = Out::Message(bytes);
        if let Ok(permit) = Arc::clone(&self.budget).try_acquire_many_owned(weight(&out)) {
            let _ = self.queue.try_send((out, Some(permit)));
        }
    }

    /// Returns once the reader has caught up enough for another request: of large answers one waits, and no second is made.
    pub async fn room(&self) {
        drop(self.budget.acquire_many(BUDGET as u32 / 2).await);
    }

    /// Returns when nobody will ever take another message.
    pub async fn closed(&self) {
        self.queue.closed().await;
    }
}

fn weight(out: &Out) -> u32 {
    let bytes = match out {
        Out::Message(bytes) | Out::Answer(_, bytes) => bytes.len(),
        Out::Batch { ready, .. } => ready.iter().map(Vec::len).sum(),
    };
    // Never more than the whole budget, or a large answer could not leave at all.
    bytes.clamp(1, BUDGET) as u32
}

impl Outgoing {
    /// The next message, or `None` when the connection is done. It counts as unread until the next one is asked for.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        self.held.clear();
        loop {
            let (out, permit) = self.queue.recv().await?;
            if let Some(bytes) = self.collector.pass(out) {
                self.held.extend(permit);
                return Some(bytes);
            }
        }
    }

    /// A message that is ready now, to be written with the one before.
    pub fn ready(&mut self) -> Option<Vec<u8>> {
        loop {
            let (out, permit) = self.queue.try_recv().ok()?;
            if let Some(bytes) = self.collector.pass(out) {
                self.held.extend(permit);
                return Some(bytes);
            }
        }
    }
}
