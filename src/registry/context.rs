//! What a tool sees of the call it serves and of the machine it runs on.

use crate::{access::caller::Caller, registry::progress::Progress, world::World};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tokio_util::sync::CancellationToken;

/// Handed to every tool. Cheap to make: one per call.
pub struct Context {
    pub world: Arc<World>,
    pub caller: Arc<Caller>,
    /// Fires when the caller withdraws the request or its time is up.
    pub cancel: CancellationToken,
    pub progress: Progress,
    /// The approval that lets this call through the agent, when policy asked for one.
    pub approval: Option<String>,
    pub notes: Notes,
}

/// What a tool tells the caller about its answer, beside the answer: it becomes `_meta`.
#[derive(Default)]
pub struct Notes {
    simulated: AtomicBool,
    changed: AtomicBool,
}

impl Notes {
    /// The answer comes from a simulated part, not from this machine.
    pub fn simulated(&self) {
        self.simulated.store(true, Ordering::Relaxed);
    }
    /// The call changed something.
    pub fn changed(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }
    pub fn is_simulated(&self) -> bool {
        self.simulated.load(Ordering::Relaxed)
    }
    pub fn is_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }
}
