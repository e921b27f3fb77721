//! Progress of one call: at most four updates a second, none after the terminal answer (docs/contract/README.md).

use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The shortest time between two updates of one call.
pub const INTERVAL: Duration = Duration::from_millis(250);

/// One step of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// Grows with every update of a call.
    pub progress: f64,
    pub total: Option<f64>,
    pub message: String,
    /// What the call is doing (`download`, `wait`, …).
    pub phase: &'static str,
    /// `info`, `stdout`, `stderr` or `debug`.
    pub stream: &'static str,
}

/// A piece of output, passed on as it arrives (`exec/stream`, docs/contract/exec.md).
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct OutputChunk<'a> {
    /// `stdout` or `stderr`.
    pub stream: &'static str,
    /// Where it begins, in bytes.
    pub offset: u64,
    pub data: &'a str,
}

/// Sends one piece. Called under the same lock as a [`Sink`].
pub type ChunkSink = Box<dyn Fn(&OutputChunk<'_>) + Send + Sync>;

/// Sends one update. Called under a lock, so it must not block.
pub type Sink = Box<dyn Fn(&Update) + Send + Sync>;

/// The handle through which a tool reports progress. Without a listener it does nothing.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Mutex<State>>>);

struct State {
    sink: Option<Sink>,
    pieces: Option<ChunkSink>,
    sent: Option<Instant>,
    last: f64,
    pending: Option<Update>,
    timer: bool,
}

impl Progress {
    pub fn to(sink: Sink) -> Self {
        Self::of(Some(sink), None)
    }

    /// With a listener for steps, for pieces of output, or for both.
    pub fn of(sink: Option<Sink>, pieces: Option<ChunkSink>) -> Self {
        if sink.is_none() && pieces.is_none() {
            return Self::default();
        }
        Self(Some(Arc::new(Mutex::new(State {
            sink,
            pieces,
            sent: None,
            last: f64::NEG_INFINITY,
            pending: None,
            timer: false,
        }))))
    }

    /// Whether there is a listener. A tool may skip costly reports otherwise.
    pub fn wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Reports a step. Updates that come too fast are merged: the newest is sent when the interval is over.
    pub fn report(&self, update: Update) {
        let Some(shared) = &self.0 else { return };
        let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if state.sink.is_none() {
            return;
        }
        let wait = state.wait();
        if wait.is_zero() {
            // The update that waited is older than this one. Its timer finds nothing, or a newer one that waits again.
            state.pending = None;
            return state.send(update);
        }
        state.pending = Some(update);
        if !std::mem::replace(&mut state.timer, true) {
            base::task::spawn(send_in_time(Arc::clone(shared), wait));
        }
    }

    /// A plain message.
    pub fn say(&self, progress: f64, total: Option<f64>, phase: &'static str, message: impl Into<String>) {
        if self.wanted() {
            self.report(Update { progress, total, message: message.into(), phase, stream: "info" });
        }
    }

    /// Sends a piece of output, if the caller takes pieces.
    pub fn piece(&self, piece: &OutputChunk<'_>) {
        if let Some(shared) = &self.0
            && let Some(send) = &shared.lock().unwrap_or_else(PoisonError::into_inner).pieces
        {
            send(piece);
        }
    }

    /// Ends the progress before the terminal answer: nothing may follow that.
    pub fn close(&self) {
        if let Some(shared) = &self.0 {
            let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
            state.sink = None;
            state.pieces = None;
            state.pending = None;
        }
    }
}

/// Sends the waiting update after `wait`. If another update was sent meanwhile, it waits again.
async fn send_in_time(shared: Arc<Mutex<State>>, mut wait: Duration) {
    loop {
        tokio::time::sleep(wait).await;
        let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
        wait = state.wait();
        if state.pending.is_some() && !wait.is_zero() {
            continue;
        }
        state.timer = false;
        if let Some(update) = state.pending.take() {
            state.send(update);
        }
        return;
    }
}

impl State {
    /// How long until the next update may go.
    fn wait(&self) -> Duration {
        self.sent.map_or(Duration::ZERO, |sent| INTERVAL.saturating_sub(sent.elapsed()))
    }

    fn send(&mut self, mut update: Update) {
        // MCP: the value must increase with each notification.
        if update.progress <= self.last {
            update.progress = self.last + 1e-6 * (1.0 + self.last.abs());
        }
        self.last = update.progress;
        self.sent = Some(Instant::now());
        if let Some(sink) = &self.sink {
            sink(&update);
        }
    }
}

/// `params` of `notifications/progress`: MCP's fields, with ours in `_meta` (docs/contract/README.md).
pub fn params(token: &Value, tool: &str, id: &str, update: &Update) -> Value {
    let mut params = json!({
        "progressToken": token,
        "progress": update.progress,
        "message": update.message,
        "_meta": {
            "id": id,
            "tool": tool,
            "phase": update.phase,
            "stream": update.stream,
            "ts": base::clock::now(),
        },
    });
    if let Some(total) = update.total {
        params["total"] = json!(total);
    }
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listen() -> (Progress, Arc<Mutex<Vec<Update>>>) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        (Progress::to(Box::new(move |update| sink.lock().unwrap().push(update.clone()))), seen)
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_becomes_its_first_and_its_last() {
        let (progress, seen) = listen();
        for step in 0..100 {
            progress.say(f64::from(step), Some(100.0), "work", format!("step {step}"));
        }
        assert_eq!(seen.lock().unwrap().len(), 1);
        tokio::time::sleep(INTERVAL * 2).await;
        let messages: Vec<_> = seen.lock().unwrap().iter().map(|update| update.message.clone()).collect();
        assert_eq!(messages, ["step 0", "step 99"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_timer_that_comes_late_sends_nothing_early() {
        let (progress, seen) = listen();
        progress.say(0.0, None, "work", "at 0 ms");
        progress.say(1.0, None, "work", "merged away");
        // The thread was busy: this report comes at its time before the timer does.
        tokio::time::advance(INTERVAL).await;
        progress.say(2.0, None, "work", "at 250 ms");
        progress.say(3.0, None, "work", "at 500 ms");
        tokio::time::advance(INTERVAL / 2).await;
        tokio::task::yield_now().await;
        assert_eq!(seen.lock().unwrap().len(), 2);
        tokio::time::sleep(INTERVAL).await;
        let messages: Vec<_> = seen.lock().unwrap().iter().map(|update| update.message.clone()).collect();
        assert_eq!(messages, ["at 0 ms", "at 250 ms", "at 500 ms"]);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_follows_the_answer_and_values_only_grow() {
        let (progress, seen) = listen();
        progress.say(5.0, None, "work", "five");
        progress.say(6.0, None, "work", "never sent");
        progress.close();
        progress.say(7.0, None, "work", "never sent either");
        tokio::time::sleep(INTERVAL * 4).await;
        assert_eq!(seen.lock().unwrap().len(), 1);

        let (progress, seen) = listen();
        progress.say(5.0, None, "work", "five");
        progress.say(1.0, None, "work", "back");
        tokio::time::sleep(INTERVAL * 2).await;
        let seen = seen.lock().unwrap();
        assert!(seen[1].progress > seen[0].progress);
    }
}
