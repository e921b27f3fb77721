//! Concurrency limits, divided among callers: see [`contract::access::shares`] for the division.
//!
//! Calls that find no free place wait in a bounded queue. A place that becomes free goes to the first in the queue whose caller
//! has not used up its share, so that one caller's queue does not block the others.

use super::bounds::{ServerLimits, ServerLoad};
use base::error::ToolError;
use contract::access::{
    caller::Caller,
    shares::{ASKS, Occupancy, Pool, PoolFull, PoolPlace, Rule},
};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::oneshot;

/// All places of one server.
pub struct CallPlaces {
    running: Arc<Running>,
    waiting: Arc<Pool>,
    streams: Arc<Pool>,
    /// Separate from the places for long waits, so that filling those cannot keep a person from being asked.
    approvals: Arc<Pool>,
}

/// A place; dropping it frees it.
pub enum CallPlace {
    Running(RunPermit),
    Apart(PoolPlace),
}

struct Running {
    rule: Rule,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    taken: Occupancy,
    /// Calls that cannot run now. A call that can run does not enter the queue.
    queue: VecDeque<Waiter>,
    numbers: u64,
}

struct Waiter {
    number: u64,
    caller: Arc<Caller>,
    sender: oneshot::Sender<RunPermit>,
}

/// One of the places to run in.
pub struct RunPermit {
    running: Arc<Running>,
    caller: Arc<Caller>,
}

impl CallPlaces {
    pub fn new(bounds: &ServerLimits) -> Self {
        Self {
            running: Arc::new(Running { rule: Rule::half(bounds.concurrent), state: Mutex::default() }),
            waiting: Pool::new(Rule::half(bounds.waiting)),
            streams: Pool::new(Rule::half(bounds.streams)),
            approvals: Pool::new(ASKS),
        }
    }

    pub fn load(&self) -> ServerLoad {
        ServerLoad {
            running: self.running.lock().taken.all,
            waiting: self.waiting.count(),
            streams: self.streams.count() + self.approvals.count(),
        }
    }

    /// A place to run in; waits in the queue.
    ///
    /// # Errors
    /// `resource_exhausted` when the queue, or the caller's share of it, is full.
    pub async fn run(&self, caller: &Arc<Caller>) -> Result<CallPlace, ToolError> {
        let full = match self.running.take(caller) {
            Ok(permit) => return Ok(CallPlace::Running(permit)),
            Err(full) => full,
        };
        let _waiting = self.waiting.take(caller).map_err(|queue| match (full, queue) {
            // The queue has room, but this caller has used up its share of it.
            (_, PoolFull::Share(share)) => PoolFull::Share(share).error("waiting calls"),
            (running, _) => running.error("running calls"),
        })?;
        let (_turn, receiver) = self.running.queue(caller);
        receiver.await.map(CallPlace::Running).map_err(|_| ToolError::unavailable("the server is stopping"))
    }

    /// A place for a long wait or a stream.
    ///
    /// # Errors
    /// `resource_exhausted`
    pub fn stream(&self, caller: &Arc<Caller>) -> Result<CallPlace, ToolError> {
        self.streams.take(caller).map(CallPlace::Apart).map_err(|full| full.error("long waits and streams"))
    }

    /// A place to wait for a person's answer in.
    ///
    /// # Errors
    /// `resource_exhausted`
    pub fn approval(&self, caller: &Arc<Caller>) -> Result<CallPlace, ToolError> {
        self.approvals.take(caller).map(CallPlace::Apart).map_err(|full| full.error("calls that wait for an approval"))
    }
}

impl Running {
    fn take(self: &Arc<Self>, caller: &Arc<Caller>) -> Result<RunPermit, PoolFull> {
        let mut state = self.lock();
        state.taken.admits(&self.rule, caller)?;
        state.taken.add(caller);
        Ok(RunPermit { running: Arc::clone(self), caller: Arc::clone(caller) })
    }

    fn queue(self: &Arc<Self>, caller: &Arc<Caller>) -> (Turn, oneshot::Receiver<RunPermit>) {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.lock();
        state.numbers += 1;
        let number = state.numbers;
        state.queue.push_back(Waiter { number, caller: Arc::clone(caller), sender });
        (Turn { running: Arc::clone(self), number }, receiver)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RunPermit {
    fn drop(&mut self) {
        let next = {
            let mut state = self.running.lock();
            state.taken.remove(&self.caller);
            let taken = &state.taken;
            let first = state.queue.iter().position(|waiter| taken.admits(&self.running.rule, &waiter.caller).is_ok());
            let next = first.and_then(|first| state.queue.remove(first));
            if let Some(next) = &next {
                state.taken.add(&next.caller);
            }
            next
        };
        if let Some(Waiter { caller, sender, .. }) = next {
            // Not taken: the permit comes back, and is dropped for the next one.
            drop(sender.send(RunPermit { running: Arc::clone(&self.running), caller }));
        }
    }
}

/// A place in the queue; left when dropped.
struct Turn {
    running: Arc<Running>,
    number: u64,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.running.lock().queue.retain(|waiter| waiter.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::listing::CallLimits;
    use contract::{access::caller::Transport, meta::Role};
    use futures::{FutureExt, future::BoxFuture};

    fn places(concurrent: usize, waiting: usize) -> CallPlaces {
        let limits = CallLimits { reads_per_minute: 1, writes_per_minute: 1, request_timeout_seconds: 1 };
        CallPlaces::new(&ServerLimits { limits, concurrent, waiting, streams: 8, response_bytes: 1 })
    }

    fn who(name: &str, role: Role) -> Arc<Caller> {
        Arc::new(Caller::new(name, role, Transport::Http))
    }

    fn enters<'a>(places: &'a CallPlaces, caller: &'a Arc<Caller>) -> BoxFuture<'a, Result<CallPlace, ToolError>> {
        places.run(caller).boxed()
    }

    #[tokio::test]
    async fn one_caller_s_queue_is_not_in_front_of_everybody_else_s() {
        let places = places(8, 16);
        let (flood, other, root) = (who("a", Role::ReadOnly), who("b", Role::ReadOnly), who("uid:0", Role::Admin));
        let mut inside: Vec<_> = (0..4).map(|_| enters(&places, &flood).now_or_never().unwrap().unwrap()).collect();
        let mut queue: Vec<_> = (0..8).map(|_| enters(&places, &flood)).collect();
        assert!(queue.iter_mut().all(|waits| waits.now_or_never().is_none()));
        let refused = enters(&places, &flood).await.err().unwrap();
        assert_eq!((&refused.details["limit"], &refused.details["limit_of"]), (&8.into(), &"caller".into()));
        // Others come in at once, past the queue, and root to the last place.
        for _ in 0..3 {
            inside.push(enters(&places, &other).now_or_never().unwrap().unwrap());
        }
        let mut waits = enters(&places, &other);
        assert!(waits.as_mut().now_or_never().is_none(), "the reserve is not for it");
        inside.push(enters(&places, &root).now_or_never().unwrap().unwrap());
        assert_eq!(places.load(), ServerLoad { running: 8, waiting: 9, streams: 0 });
        // Root's place goes to nobody else; the flood's to its own first; the other's to the other.
        drop(inside.pop());
        assert!(waits.as_mut().now_or_never().is_none() && queue[0].as_mut().now_or_never().is_none());
        drop(inside.pop());
        assert!(waits.now_or_never().is_some());
        drop(queue.remove(0));
        drop(inside.remove(0));
        assert!(queue.remove(0).now_or_never().is_some());
        drop((inside, queue));
        assert_eq!(places.load(), ServerLoad { running: 0, waiting: 0, streams: 0 });
        assert!(places.running.lock().queue.is_empty());
    }

    #[tokio::test]
    async fn a_place_for_somebody_who_has_gone_is_the_next_one_s() {
        let places = places(1, 4);
        let caller = who("a", Role::ReadOnly);
        let inside = enters(&places, &caller).await.unwrap();
        let (mut gone, mut next) = (enters(&places, &caller), enters(&places, &caller));
        assert!(gone.as_mut().now_or_never().is_none() && next.as_mut().now_or_never().is_none());
        // It is sent, and never received.
        drop(inside);
        drop(gone);
        assert!(next.now_or_never().unwrap().is_ok());
    }

    /// As the agent has it: a fifth caller finds a place beside four that ask without end.
    #[tokio::test]
    async fn four_callers_leave_a_place_for_a_fifth() {
        let places = places(8, 8);
        let asks = |name: &str| places.approval(&who(name, Role::OpsRw));
        let held: Vec<_> =
            ["a", "b", "c", "d"].iter().flat_map(|name| std::iter::from_fn(move || asks(name).ok())).collect();
        assert_eq!(held.len(), 16);
        assert_eq!(asks("a").err().unwrap().details["limit"], 4);
        assert!(asks("e").is_ok());
    }

    #[tokio::test]
    async fn long_waits_take_nothing_from_approvals() {
        let places = places(8, 8);
        let weak = who("a", Role::ReadOnly);
        let waits: Vec<_> = std::iter::from_fn(|| places.stream(&weak).ok()).collect();
        assert_eq!(waits.len(), 4);
        assert!(places.stream(&who("b", Role::ReadOnly)).is_ok() && places.approval(&weak).is_ok());
    }
}
