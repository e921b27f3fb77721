//! The outgoing queue of a connection, bounded in bytes: the server stops reading from a client that does not read.

use super::batch::{Collector, Outbound};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Most bytes queued or being written. Once half of them are used, no further request is read.
const BUDGET: usize = 256 * 1024;
/// Most messages queued.
const QUEUE: usize = 64;

/// Queues answers and notifications of one connection.
#[derive(Clone)]
pub struct Outbox {
    queue: mpsc::Sender<(Outbound, Option<OwnedSemaphorePermit>)>,
    budget: Arc<Semaphore>,
}

/// The other end: messages in the order they are sent, batches joined.
pub struct Outgoing {
    queue: mpsc::Receiver<(Outbound, Option<OwnedSemaphorePermit>)>,
    collector: Collector,
    /// Permits of the messages that are being written.
    held: Vec<OwnedSemaphorePermit>,
}

/// `answer_bytes`: longest answer in bytes, which also limits the answers of a batch together.
pub fn outbox(answer_bytes: usize) -> (Outbox, Outgoing) {
    let (sender, receiver) = mpsc::channel(QUEUE);
    (
        Outbox { queue: sender, budget: Arc::new(Semaphore::new(BUDGET)) },
        Outgoing { queue: receiver, collector: Collector::new(answer_bytes), held: Vec::new() },
    )
}

impl Outbox {
    /// Queues `out`; waits while the reader is too far behind. Does nothing if the connection is gone.
    pub async fn send(&self, out: Outbound) {
        let permit = Arc::clone(&self.budget).acquire_many_owned(weight(&out)).await.ok();
        let _ = self.queue.send((out, permit)).await;
    }

    /// Queues a notification only if there is room: progress may be dropped to save memory.
    pub fn offer(&self, bytes: Vec<u8>) {
        let out = Outbound::Message(bytes);
        if let Ok(permit) = Arc::clone(&self.budget).try_acquire_many_owned(weight(&out)) {
            let _ = self.queue.try_send((out, Some(permit)));
        }
    }

    /// Returns once the reader has caught up enough for another request, so that only one large answer waits at a time.
    pub async fn room(&self) {
        drop(self.budget.acquire_many(BUDGET as u32 / 2).await);
    }

    /// Returns when no further message can be sent.
    pub async fn closed(&self) {
        self.queue.closed().await;
    }
}

fn weight(out: &Outbound) -> u32 {
    let bytes = match out {
        Outbound::Message(bytes) | Outbound::Answer(_, bytes) => bytes.len(),
        Outbound::Batch { ready, .. } => ready.iter().map(Vec::len).sum(),
    };
    // At most the whole budget; otherwise a large answer could never be sent.
    bytes.clamp(1, BUDGET) as u32
}

impl Outgoing {
    /// The next message, or `None` when the connection has ended. It counts as unread until the next call.
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

    /// A message that is ready now, to be written together with the previous one.
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
