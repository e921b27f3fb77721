//! A port that is open: whose it is, its line, and what has arrived.

use super::{
    buffer::Buffer,
    port::{Flow, Line, Wire},
    told::SerialError,
};
use crate::gpio::lease::Owner;
use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Notify, Semaphore},
    time::Instant,
};

/// An open port. It is shared with the task that fills its buffer.
pub struct OpenPort {
    pub name: String,
    pub state: Mutex<PortState>,
    /// Something has arrived, or the line is gone. For everybody who waits.
    pub arrived: Notify,
    /// The lease was renewed, the port closed, or the buffer has room again. For the task.
    pub wake: Notify,
    /// One write at a time, so that two calls do not mix their bytes.
    pub turn: Semaphore,
}

pub struct PortState {
    pub owner: Owner,
    /// How long the lease lasts after each use; `None`: as long as the connection. A connection has one only if its
    /// caller gave it, and then it counts without the connection too.
    pub lasts: Option<Duration>,
    pub until: Option<Instant>,
    pub line: Line,
    /// `None` once the line is gone: a device that was unplugged gets its name back only when nobody has it open.
    pub wire: Option<Arc<dyn Wire>>,
    pub buffer: Buffer,
    /// Why the line is gone.
    pub fault: Option<io::Error>,
    /// Given back: the task ends.
    pub closed: bool,
    /// Something has arrived since the subscribers were told.
    pub news: bool,
    /// What the driver had counted at the last read.
    pub counted: [u32; 5],
}

impl OpenPort {
    pub fn new(name: String, owner: Owner, line: Line, wire: Arc<dyn Wire>, lasts: Option<Duration>) -> Arc<Self> {
        let counted = wire.faults().unwrap_or_default();
        let state = PortState {
            owner,
            lasts,
            until: lasts.map(|lasts| Instant::now() + lasts),
            line,
            wire: Some(wire),
            buffer: Buffer::default(),
            fault: None,
            closed: false,
            news: false,
            counted,
        };
        Arc::new(Self {
            name,
            state: Mutex::new(state),
            arrived: Notify::new(),
            wake: Notify::new(),
            turn: Semaphore::new(1),
        })
    }

    /// Every change leaves the state consistent, so a poisoned lock is safe to use.
    pub fn state(&self) -> MutexGuard<'_, PortState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the line back; waiting calls end.
    pub fn close(&self) {
        let mut state = self.state();
        (state.wire, state.closed) = (None, true);
        drop(state);
        self.wake.notify_one();
        self.arrived.notify_waiters();
    }

    /// The line is gone; what has arrived can still be read.
    pub fn hung_up(&self, fault: Option<io::Error>) {
        let mut state = self.state();
        (state.wire, state.fault) = (None, fault);
        state.news = true;
        drop(state);
        self.arrived.notify_waiters();
    }

    /// The line, while there is one.
    ///
    /// # Errors
    /// [`SerialError::HungUp`].
    pub fn wire(&self) -> Result<Arc<dyn Wire>, SerialError> {
        let state = self.state();
        state.wire.clone().ok_or_else(|| state.gone())
    }
}

impl PortState {
    /// Whether `other` may use it: its owner on the same connection, or under the same configured name. One that stays
    /// open without its connection belongs to all connections of its principal.
    pub fn is_of(&self, other: &Owner) -> bool {
        match (&self.owner.name, &other.name) {
            (Some(name), Some(other)) => name == other,
            (None, None) => {
                self.owner.principal == other.principal
                    && (self.owner.presence == other.presence || self.owner.is_gone())
            }
            _ => false,
        }
    }

    /// Renews the lease after a use.
    pub fn renew(&mut self) {
        self.until = self.lasts.map(|lasts| Instant::now() + lasts);
    }

    pub fn gone(&self) -> SerialError {
        if self.closed {
            return SerialError::NotOpen;
        }
        SerialError::HungUp(self.fault.as_ref().map(|fault| io::Error::new(fault.kind(), fault.to_string())))
    }

    /// Whether the task lets the kernel hold the bytes, which then stops the other end.
    pub fn holds_back(&self, chunk: usize) -> bool {
        self.line.flow != Flow::None && self.buffer.room() < chunk
    }

    /// How long a pause means that something is complete: 50 ms, which covers the 16 ms of USB adapters, or four
    /// characters.
    pub fn pause(&self) -> Duration {
        Duration::from_millis(50).max(Duration::from_secs(40) / self.line.baud.max(1))
    }

    /// What the driver has counted since the last read.
    pub fn new_faults(&mut self) -> [u32; 5] {
        let Some(now) = self.wire.as_ref().and_then(|wire| wire.faults()) else { return [0; 5] };
        let before = std::mem::replace(&mut self.counted, now);
        std::array::from_fn(|at| now[at].wrapping_sub(before[at]))
    }
}
