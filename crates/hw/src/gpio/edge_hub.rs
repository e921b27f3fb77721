//! Distributes the edges of an input to all its listeners. The kernel has one queue per line; a task reads it while
//! there are listeners.

use crate::line::{Edge, Line};
use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::broadcast;

/// Edges buffered for a slow listener; it loses the oldest.
const BEHIND: usize = 64;

/// The listeners of one line.
#[derive(Clone)]
pub struct EdgeHub {
    told: broadcast::Sender<Edge>,
    at_work: Arc<AtomicBool>,
}

impl Default for EdgeHub {
    fn default() -> Self {
        Self { told: broadcast::Sender::new(BEHIND), at_work: Arc::default() }
    }
}

impl EdgeHub {
    /// Edges of `line` from now on. The channel closes with the line.
    pub fn listen(&self, line: &Arc<dyn Line>) -> broadcast::Receiver<Edge> {
        let heard = self.told.subscribe();
        if !self.at_work.swap(true, Ordering::AcqRel) {
            line.forget_edges();
            base::task::spawn(tell(Arc::clone(line), self.clone()));
        }
        heard
    }

    pub fn count(&self) -> usize {
        self.told.receiver_count()
    }
}

async fn tell(line: Arc<dyn Line>, hub: EdgeHub) {
    while let Ok(edge) = poll_fn(|cx| line.poll_edge(cx)).await {
        // No listener is left: stop, so that later edges cause no wake-ups.
        if hub.told.send(edge).is_err() {
            line.forget_edges();
            break;
        }
    }
    hub.at_work.store(false, Ordering::Release);
}
