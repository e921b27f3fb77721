//! The messages that wait for one receiver, and what became of the others. Bounded.

use super::{message::Message, report::WebhookReport};
use base::clock::Stamp;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{sync::Notify, time::Instant};

/// Maximum number of waiting messages: some KiB of memory, and more than anybody reads when the network is back.
pub const MOST: usize = 64;

#[derive(Debug, Default)]
pub struct Queue {
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// How many messages ever arrived.
    arrivals: u64,
    /// Dropped messages of which the receiver was not told yet.
    untold: u64,
    sent: u64,
    failed: u64,
    dropped: u64,
    /// Since when it takes nothing, in milliseconds since 1970 UTC.
    failing_since_ms: Option<i64>,
    last_error: Option<String>,
}

/// A message, and since when it waits.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub message: Arc<Message>,
    pub since: Instant,
}

impl Queue {
    /// Adds a message. If there are too many, the oldest of its kind is dropped, or else the oldest of all.
    pub fn push(&self, message: Arc<Message>) {
        let mut state = self.lock();
        if state.waiting.len() >= MOST {
            let same = |old: &Waiting| old.message.event.kind() == message.event.kind();
            let at = state.waiting.iter().position(same).unwrap_or(0);
            state.waiting.remove(at);
            state.lose();
        }
        state.arrivals += 1;
        state.waiting.push_back(Waiting { message, since: Instant::now() });
        drop(state);
        self.arrived.notify_one();
    }

    /// Counts a message that was not even queued.
    pub fn lose(&self) {
        self.lock().lose();
    }

    /// How many messages ever arrived, for [`Queue::arrived`].
    pub fn arrivals(&self) -> u64 {
        self.lock().arrivals
    }

    /// Resolves when more than `seen` messages have arrived.
    pub async fn arrived(&self, seen: u64) {
        while self.arrivals() == seen {
            self.arrived.notified().await;
        }
    }

    /// The next message, with how many before it were dropped.
    pub fn head(&self) -> Option<(Waiting, u64)> {
        let state = self.lock();
        state.waiting.front().cloned().map(|head| (head, state.untold))
    }

    /// The receiver took the message, and learned of `told` dropped ones.
    pub fn taken(&self, message: &Message, told: u64) {
        let mut state = self.lock();
        state.remove(message);
        state.sent += 1;
        state.untold = state.untold.saturating_sub(told);
        (state.failing_since_ms, state.last_error) = (None, None);
    }

    /// An attempt failed.
    pub fn failing(&self, why: &str, now_ms: i64) {
        let mut state = self.lock();
        state.failing_since_ms.get_or_insert(now_ms);
        state.last_error = Some(why.to_owned());
    }

    /// The message was given up.
    pub fn given_up(&self, message: &Message) {
        let mut state = self.lock();
        state.remove(message);
        state.failed += 1;
    }

    /// What became of the messages to the receiver `name`.
    pub fn report(&self, name: &str) -> WebhookReport {
        let state = self.lock();
        WebhookReport {
            name: name.to_owned(),
            sent: state.sent,
            failed: state.failed,
            dropped: state.dropped,
            waiting: state.waiting.len(),
            failing_since: state.failing_since_ms.map(|at| Stamp(at).to_string()),
            last_error: state.last_error.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change under this lock is complete before any code can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn lose(&mut self) {
        self.dropped += 1;
        self.untold += 1;
    }

    /// It may have been dropped while it was sent.
    fn remove(&mut self, message: &Message) {
        self.waiting.retain(|waiting| waiting.message.id != message.id);
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::Event;
    use super::*;

    fn ask(number: usize) -> Arc<Message> {
        let event = Event::AskOpened { tool: "a.b".into(), ask_id: number.to_string(), expires_ms: i64::MAX };
        Arc::new(Message::new(event, 0, None).unwrap())
    }

    #[tokio::test]
    async fn a_full_queue_drops_the_oldest_of_the_same_kind_and_counts_it() {
        let queue = Queue::default();
        let first = Arc::new(Message::new(Event::UnderVoltage { times: 1 }, 0, None).unwrap());
        queue.push(Arc::clone(&first));
        (1..MOST).for_each(|number| queue.push(ask(number)));
        assert_eq!((queue.report("a").waiting, queue.report("a").dropped), (MOST, 0));
        queue.push(ask(MOST));
        let report = queue.report("a");
        assert_eq!((report.waiting, report.dropped), (MOST, 1));
        // Not the only one of its kind.
        let (head, untold) = queue.head().unwrap();
        assert_eq!((&head.message.id, untold), (&first.id, 1));
        queue.taken(&first, 1);
        let (head, untold) = queue.head().unwrap();
        assert!(matches!(&head.message.event, Event::AskOpened { ask_id, .. } if ask_id == "2"), "{head:?}");
        assert_eq!(untold, 0);
        // One of a kind that does not wait yet takes the place of the oldest.
        queue.push(ask(MOST + 1));
        queue.push(Arc::new(Message::new(Event::UnderVoltage { times: 2 }, 0, None).unwrap()));
        let (head, _) = queue.head().unwrap();
        assert!(matches!(&head.message.event, Event::AskOpened { ask_id, .. } if ask_id == "3"), "{head:?}");
        assert_eq!((queue.report("a").waiting, queue.report("a").dropped, queue.report("a").sent), (MOST, 2, 1));
    }
}
