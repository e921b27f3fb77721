//! One call, from its name to its terminal answer, in this order and no other:
//!
//! role → schema → types → permission → approval → rate and concurrency → handler → result → audit.
//!
//! Every door enters here. Refusals, timeouts, cancellations and panics are audited like answers.

use super::{
    answer_meta::AnswerMeta,
    context::{Context, Notes},
    listing::{Limits, Listings},
    meta::Mode,
    progress::Progress,
    tool::{Entry, Output},
};
use crate::{
    access::{
        caller::Caller,
        ledger::{Entry as AuditEntry, Ledger},
        rate::RateLimiter,
    },
    error::{ErrorCode, ToolError},
    world::World,
};
use futures::FutureExt;
use serde_json::Value;
use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

/// A request that names a tool.
pub struct Call {
    pub entry: &'static Entry,
    pub caller: Arc<Caller>,
    /// Always a JSON object; anything else was refused at the door.
    pub args: Value,
    /// The JSON-RPC id, canonical form.
    pub request_id: String,
    pub correlation_id: Option<String>,
    pub cancel: CancellationToken,
    pub progress: Progress,
    /// The client's end of the conversation, where there is one to ask.
    pub peer: Option<Arc<dyn super::context::Peer>>,
}

/// The terminal answer of a call.
pub struct Finished {
    pub result: Result<Output, ToolError>,
    pub meta: AnswerMeta,
}

/// The limits of one server.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub limits: Limits,
    /// Calls that run at once.
    pub concurrent: usize,
    /// Calls that may wait for one of those places.
    pub waiting: usize,
    /// Long waits and streams at once, counted apart.
    pub streams: usize,
    /// The longest answer, in bytes.
    pub response_bytes: usize,
}

/// How busy a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Calls that run.
    pub running: usize,
    /// Calls that wait for a place to run in.
    pub waiting: usize,
    /// Approvals, long waits and streams.
    pub streams: usize,
}

/// Serves calls.
pub struct Pipeline {
    pub world: Arc<World>,
    pub listings: Listings,
    pub bounds: Bounds,
    ledger: Arc<dyn Ledger>,
    gate: Arc<dyn Gate>,
    rate: RateLimiter,
    places: Semaphore,
    waiting: AtomicUsize,
    streams: Semaphore,
    cache: super::cache::Cache,
}

/// Asks a person. Implemented by the link to the agent, which holds the asks.
pub trait Gate: Send + Sync {
    /// Returns the approval that lets this very call through the agent.
    ///
    /// # Errors
    /// `failed_precondition` while nobody has answered, `permission_denied` when somebody said no, `unavailable` when the
    /// agent is offline.
    fn approve<'a>(&'a self, request: Ask<'a>) -> futures::future::BoxFuture<'a, Result<Approval, ToolError>>;
}

/// What a person is asked about.
pub struct Ask<'a> {
    pub entry: &'static Entry,
    pub caller: &'a Caller,
    pub args: &'a Value,
    pub progress: &'a Progress,
    pub cancel: &'a CancellationToken,
    pub peer: Option<&'a Arc<dyn super::context::Peer>>,
}

/// A person's yes.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Approval {
    pub ask_id: String,
    pub by: String,
    pub how: String,
}

impl Pipeline {
    pub fn new(world: Arc<World>, bounds: Bounds, ledger: Arc<dyn Ledger>, gate: Arc<dyn Gate>) -> Self {
        Self {
            world,
            listings: Listings::new(bounds.limits),
            bounds,
            ledger,
            gate,
            rate: RateLimiter::new(),
            places: Semaphore::new(bounds.concurrent),
            waiting: AtomicUsize::new(0),
            streams: Semaphore::new(bounds.streams),
            cache: super::cache::Cache::default(),
        }
    }

    /// What is going on now.
    pub fn load(&self) -> Load {
        Load {
            running: self.bounds.concurrent.saturating_sub(self.places.available_permits()),
            waiting: self.waiting.load(Ordering::Acquire),
            streams: self.bounds.streams.saturating_sub(self.streams.available_permits()),
        }
    }

    /// Runs `call` to its end. Never panics, never answers twice; dropping the future cancels the call.
    pub async fn run(&self, call: Call) -> Finished {
        let started = Instant::now();
        let audited_args = match call.entry.shown(&call.args) {
            Some(shown) => self.ledger.redact(&shown),
            None => self.ledger.redact(&call.args),
        };
        let args_sha256: Arc<str> = crate::access::canonical::sha256_hex(&call.args).into();
        let (entry, caller) = (call.entry, Arc::clone(&call.caller));
        let (request_id, correlation_id) = (call.request_id.clone(), call.correlation_id.clone());
        let progress = call.progress.clone();
        let mut trail = Trail::default();

        let served = AssertUnwindSafe(self.serve(call, Arc::clone(&args_sha256), &mut trail)).catch_unwind().await;
        let mut result = served.unwrap_or_else(|panic| Err(self.panicked(entry, &request_id, panic.as_ref())));
        if let Ok(output) = &result
            && output.json.get().len() > self.bounds.response_bytes
        {
            let (has, limit) = (output.json.get().len(), self.bounds.response_bytes);
            result = Err(ToolError::new(
                ErrorCode::ContentTooLarge,
                format!("the answer of {} has {has} bytes, at most {limit} are sent", entry.name()),
            )
            .with("limit_bytes", limit)
            .hint("ask for less: a smaller limit, a filter or a shorter time"));
        }
        progress.close();

        let duration = started.elapsed();
        let outcome = result.as_ref().err();
        let recorded = self
            .ledger
            .record(AuditEntry {
                principal: &caller.principal,
                role: caller.role,
                door: caller.door,
                tool: entry.name(),
                write: entry.meta.effect.is_write(),
                volatile: entry.meta.volatile,
                args: audited_args,
                args_sha256: &args_sha256,
                error: outcome,
                duration,
                request_id: &request_id,
                correlation_id: correlation_id.as_deref(),
                approval: trail.approval.as_ref(),
                simulated: trail.notes.is_simulated(),
                changed: trail.notes.is_changed(),
            })
            .await;
        if let Err(error) = recorded
            && result.is_ok()
            && entry.meta.effect.is_write()
        {
            // No audit, no write: the caller must not take this for a recorded success.
            result = Err(error);
        }
        Finished { result, meta: AnswerMeta::of(entry, duration, correlation_id, &trail) }
    }

    async fn serve(&self, call: Call, args_sha256: Arc<str>, trail: &mut Trail) -> Result<Output, ToolError> {
        let Call { entry, caller, args, cancel, progress, peer, .. } = call;
        // The doors refuse before; a door that forgot it ends here.
        self.world.ownership.check()?;
        let meta = entry.meta;
        let policy = &self.world.policy;
        policy.admit(meta, &caller)?;
        let cache_key = meta.cache_seconds.map(|seconds| (seconds, args.to_string()));
        let asked = (policy.mode(meta) == Mode::Ask).then(|| args.clone());
        let prepared = self.world.registry.prepare(entry, args)?;
        let mut cx = Context {
            world: Arc::clone(&self.world),
            caller: Arc::clone(&caller),
            cancel: cancel.clone(),
            progress: progress.clone(),
            approval: None,
            args_sha256,
            peer,
            notes: Arc::clone(&trail.notes),
        };
        prepared.permit(&cx)?;
        if let Some(args) = asked.filter(|_| prepared.asks()) {
            let _stream = self
                .streams
                .try_acquire()
                .map_err(|_| self.crowded("approvals and long waits", self.bounds.streams))?;
            let ask = Ask {
                entry,
                caller: &caller,
                args: &args,
                progress: &progress,
                cancel: &cancel,
                peer: cx.peer.as_ref(),
            };
            let approval = tokio::select! {
                answer = self.gate.approve(ask) => answer?,
                () = cancel.cancelled() => return Err(ToolError::cancelled(entry.name())),
            };
            cx.approval = Some(approval.ask_id.clone());
            trail.approval = Some(approval);
        }
        self.rate.take(&caller.principal, entry.name(), self.bounds.limits.per_minute(entry), Instant::now())?;
        if let Some((_, key)) = &cache_key
            && let Some(output) = self.cache.get(entry.name(), key, &trail.notes)
        {
            return Ok(output);
        }
        if meta.effect.is_write() {
            self.ledger.ready()?;
        }

        let limit = Duration::from_secs(self.bounds.limits.timeout_seconds(entry).into());
        let run = async {
            let _place = self.place(entry).await?;
            prepared.run(&cx).await
        };
        let output = tokio::select! {
            // Biased: a finished call wins over a cancellation that came with it, and costs no random number.
            biased;
            result = run => result?,
            () = cancel.cancelled() => return Err(ToolError::cancelled(entry.name())),
            () = tokio::time::sleep(limit) => {
                cancel.cancel();
                return Err(ToolError::timeout(entry.name(), limit));
            }
        };
        if let Some((seconds, key)) = cache_key {
            self.cache.put(entry.name(), key, &output, trail.notes.is_simulated(), Duration::from_secs(seconds.into()));
        }
        Ok(output)
    }

    /// A place to run in; waits in a bounded queue.
    async fn place(&self, entry: &Entry) -> Result<SemaphorePermit<'_>, ToolError> {
        if entry.meta.long {
            return self
                .streams
                .try_acquire()
                .map_err(|_| self.crowded("approvals and long waits", self.bounds.streams));
        }
        if let Ok(place) = self.places.try_acquire() {
            return Ok(place);
        }
        let _waiting = Waiting::enter(&self.waiting, self.bounds.waiting)
            .ok_or_else(|| self.crowded("calls", self.bounds.concurrent))?;
        self.places.acquire().await.map_err(|_| ToolError::unavailable("the server is stopping"))
    }

    fn crowded(&self, what: &str, limit: usize) -> ToolError {
        ToolError::exhausted(format!("{limit} {what} are running already and the queue is full"))
            .with("limit", limit)
            .hint("wait for one to end and call again")
    }

    fn panicked(&self, entry: &Entry, request_id: &str, panic: &(dyn std::any::Any + Send)) -> ToolError {
        let cause =
            panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        tracing::error!(tool = entry.name(), request_id, cause, "a tool panicked; the call failed, the server goes on");
        ToolError::internal(format!("{} failed inside; this is a bug in raspi-mcp", entry.name()))
            .hint("logs.get_recent_app_logs has the cause; please report it")
    }
}

/// What is learned about a call while it runs, kept where a panic cannot lose it.
#[derive(Default)]
pub(super) struct Trail {
    pub(super) notes: Arc<Notes>,
    approval: Option<Approval>,
}

/// Counts those who wait for a place; leaves when dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn enter(count: &'a AtomicUsize, limit: usize) -> Option<Self> {
        count
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| (n < limit).then_some(n + 1))
            .ok()
            .map(|_| Self(count))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
