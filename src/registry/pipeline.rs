//! One call, from its name to its terminal answer, in this order and no other:
//!
//! budget and rate → role → schema → types → permission → approval → concurrency → intent → handler → result → audit.
//!
//! The calls of every transport come here. Refusals, timeouts, cancellations and panics are audited like answers. Nothing
//! looks at the arguments of a call before its caller has paid for it, and no write is done before its intent is in the
//! audit.

use super::{
    Registry,
    admission::Admission,
    answer_meta::AnswerMeta,
    bounds::{ServerLimits, ServerLoad},
    context::{Context, Notes},
    deed::{self, Later, WriteOutcome},
    entry::Entry,
    gates,
    listing::Listings,
    places::{CallPlace, CallPlaces},
    progress::Progress,
    refusal,
    tool::ToolOutput,
    trail::{Trail, not_done, panicked, unrecorded},
};
use crate::{
    audit::ledger::{AuditEntry, AuditLedger, Intent},
    services::Services,
};
use base::{
    canonical::ArgsDigest,
    error::{ErrorCode, ToolError},
};
use contract::audit::changed::Changed;
use contract::meta::Mode;
use contract::{access::caller::Caller, audit::ApprovalRecord};
use futures::FutureExt;
use serde_json::Value;
use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// A request that names a tool.
pub struct Call {
    pub entry: Arc<Entry>,
    pub caller: Arc<Caller>,
    /// Always a JSON object; anything else was refused before.
    pub args: Value,
    /// The JSON-RPC id, canonical form.
    pub request_id: String,
    pub correlation_id: Option<String>,
    pub cancel: CancellationToken,
    pub progress: Progress,
    /// The client's end of the conversation, where there is one to ask.
    pub peer: Option<Arc<dyn super::context::ClientPeer>>,
}

/// The terminal answer of a call.
pub struct CallOutcome {
    pub result: Result<ToolOutput, ToolError>,
    pub meta: AnswerMeta,
}

/// Serves calls.
pub struct Pipeline {
    pub services: Arc<Services>,
    pub registry: Arc<Registry>,
    pub listings: Listings,
    pub bounds: ServerLimits,
    ledger: Arc<dyn AuditLedger>,
    gate: Arc<dyn Gate>,
    admission: Admission,
    places: CallPlaces,
    cache: super::cache::Cache,
}

/// Asks a person. Implemented by the link to the agent, which holds the asks.
pub trait Gate: Send + Sync {
    /// Returns the approval that lets this very call through the agent.
    ///
    /// # Errors
    /// `failed_precondition` while nobody has answered, `permission_denied` when somebody said no, `unavailable` when the
    /// agent is offline.
    fn approve<'a>(
        &'a self,
        request: ApprovalSubject<'a>,
    ) -> futures::future::BoxFuture<'a, Result<ApprovalRecord, ToolError>>;
}

/// What a person is asked about.
pub struct ApprovalSubject<'a> {
    pub entry: &'a Arc<Entry>,
    pub caller: &'a Caller,
    pub args: &'a Value,
    /// SHA-256 of their canonical JSON, as the audit has it.
    pub args_sha256: &'a str,
    pub progress: &'a Progress,
    pub cancel: &'a CancellationToken,
    pub peer: Option<&'a Arc<dyn super::context::ClientPeer>>,
}

impl Pipeline {
    pub fn new(
        services: Arc<Services>,
        registry: Arc<Registry>,
        bounds: ServerLimits,
        ledger: Arc<dyn AuditLedger>,
        gate: Arc<dyn Gate>,
    ) -> Self {
        base::os::panics::watch();
        Self {
            listings: Listings::new(Arc::clone(&registry), bounds.limits, services.settings.tools.profile),
            services,
            registry,
            bounds,
            ledger,
            gate,
            admission: Admission::default(),
            places: CallPlaces::new(&bounds),
            cache: super::cache::Cache::default(),
        }
    }

    /// The call that is to run for a call of `entry`: itself, or the one that its arguments hold (`tools.run`). One that cannot
    /// run stays as it is, and its tool says why.
    pub fn unwrap(&self, caller: &Caller, entry: Arc<Entry>, args: Value) -> (Arc<Entry>, Value) {
        let Some(carried) = entry.carried(&args) else { return (entry, args) };
        let Ok((inner, _)) = self.registry.resolve(&carried.tool) else { return (entry, args) };
        let policy = self.services.policy.get();
        // Only its own switch: the role is that of the tool that runs.
        let is_on = policy.off_for(&entry.meta(), Some(&caller.principal)).is_none();
        let fits = !inner.carries() && !(carried.reads_only && inner.meta().effect.is_write());
        if is_on && fits { (inner, carried.args) } else { (entry, args) }
    }

    /// What is going on now.
    pub fn load(&self) -> ServerLoad {
        self.places.load()
    }

    /// Runs `call` to its end. Never panics, never answers twice; dropping the future cancels the call. A write has a task of
    /// its own, so that its record is written whoever leaves.
    pub async fn run(self: &Arc<Self>, call: Call) -> CallOutcome {
        if !call.entry.meta().effect.is_write() {
            return self.run_here(call).await;
        }
        let (pipeline, entry, gone) = (Arc::clone(self), Arc::clone(&call.entry), call.cancel.clone().drop_guard());
        let ended = base::task::spawn(async move { pipeline.run_here(call).await }).await;
        gone.disarm();
        ended.unwrap_or_else(|_| CallOutcome {
            result: Err(ToolError::unavailable("the server is stopping").with("changed", "unknown")),
            meta: AnswerMeta::of(&entry, Duration::ZERO, None, &Notes::default(), Changed::Unknown),
        })
    }

    async fn run_here(&self, mut call: Call) -> CallOutcome {
        let started = Instant::now();
        let (entry, caller) = (Arc::clone(&call.entry), Arc::clone(&call.caller));
        let (request_id, correlation_id) = (call.request_id.clone(), call.correlation_id.clone());
        let progress = call.progress.clone();
        let named = refusal::Named::of(entry.name(), &call.args);
        let mut trail = Trail::default();

        let admitted = self.admission.admit(&self.services, &self.bounds.limits, &call);
        let (served, unseen) = match &admitted {
            Ok(_) => {
                entry.normalise(&mut call.args);
                (AssertUnwindSafe(self.serve(call, &mut trail)).catch_unwind().await, Value::Null)
            }
            Err(refusal) => (Ok(Err(refusal.clone())), call.args),
        };
        let mut result = served
            .unwrap_or_else(|_| {
                if trail.intent.is_some() {
                    trail.notes.unknown();
                }
                Err(panicked(&entry, &request_id))
            })
            .map_err(|mut error| {
                gates::tell(&self.services, &entry, &caller, &named, admitted.is_err().then_some(&unseen), &mut error);
                refusal::complete(&entry, &caller, named, error)
            });
        let refused = trail.is_refusal(&entry, &result);
        if let Ok(taken) = admitted {
            self.admission.settle(&entry, &caller, taken, refused);
        }
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
        if let Err(error) = &mut result
            && entry.meta().effect.is_write()
        {
            if trail.begun {
                deed::learn(&trail.notes, error);
            }
            deed::say(error, trail.changed());
        }
        let changed = trail.changed();

        let duration = started.elapsed();
        let gathered = refused
            && !trail.answered_by_a_person(&result)
            && result.as_ref().is_err_and(|error| self.ledger.gathers(&caller, entry.name(), error, duration));
        let mut later = None;
        if !gathered {
            let (args, whole) = trail.told.take().unwrap_or_else(|| self.told(&entry, &unseen));
            later = trail.goes_on.take().map(|running| (running, args.clone(), whole.sha256.clone()));
            let recorded = self
                .ledger
                .record(AuditEntry {
                    principal: &caller.principal,
                    owner: caller.owner.as_deref(),
                    role: caller.role,
                    transport: caller.transport,
                    tool: entry.name(),
                    write: entry.meta().effect.is_write(),
                    volatile: entry.meta().volatile,
                    refused,
                    intent: trail.intent,
                    args,
                    args_sha256: &whole.sha256,
                    error: result.as_ref().err(),
                    duration,
                    request_id: &request_id,
                    correlation_id: correlation_id.as_deref(),
                    approval: trail.approval.as_ref(),
                    simulated: trail.notes.is_simulated(),
                    changed,
                    later: false,
                })
                .await;
            if let Err(error) = recorded
                && entry.meta().effect.is_write()
                && !refused
            {
                result = Err(unrecorded(&entry, result, &error));
            }
        }
        let meta = AnswerMeta::of(&entry, duration, correlation_id.clone(), &trail.notes, changed);
        if let Some((running, args, args_sha256)) = later {
            let (ledger, notes, approval) = (Arc::clone(&self.ledger), trail.notes, trail.approval);
            let intent = trail.intent;
            let call = Later {
                entry,
                caller,
                args,
                args_sha256,
                intent,
                request_id,
                correlation_id,
                approval,
                notes,
                started,
            };
            base::task::spawn(call.record(running, ledger));
        }
        CallOutcome { result, meta }
    }

    /// Arguments as they go into the audit, and what they are as a whole.
    fn told(&self, entry: &Entry, args: &Value) -> (Value, ArgsDigest) {
        let whole = ArgsDigest::of(args);
        let told = match entry.shown(args) {
            Some(shown) => self.ledger.redact(&shown, &whole),
            None => self.ledger.redact(args, &whole),
        };
        (told, whole)
    }

    async fn serve(&self, call: Call, trail: &mut Trail) -> Result<ToolOutput, ToolError> {
        let Call { entry, caller, args, request_id, correlation_id, cancel, progress, peer } = call;
        let meta = &entry.meta();
        let policy = self.services.policy.held();
        let (told, whole) = self.told(&entry, &args);
        let args_sha256: Arc<str> = whole.sha256.as_str().into();
        // What only looks needs no intent, and can be dropped at any time.
        let told_before = (meta.effect.is_write() && !(meta.dry_run && args["dry_run"] == true)).then(|| told.clone());
        trail.told = Some((told, whole));
        let cache_key = meta.cache_seconds.map(|seconds| (seconds, args_sha256.to_string()));
        // By what the call does, which its arguments decide; told once they are known to be some.
        let ruling = policy.judge(meta, &args);
        let asked = matches!(ruling, Ok(Mode::Ask)).then(|| args.clone());
        let prepared = entry.prepare(args)?;
        ruling?;
        let mut cx = Context {
            services: Arc::clone(&self.services),
            registry: Arc::clone(&self.registry),
            caller: Arc::clone(&caller),
            cancel: cancel.clone(),
            progress: progress.clone(),
            approval: None,
            args_sha256: Arc::clone(&args_sha256),
            peer,
            notes: Arc::clone(&trail.notes),
        };
        prepared.permit(&cx)?;
        if let Some(args) = asked.filter(|_| prepared.asks()) {
            let _waits = self.places.approval(&caller)?;
            let ask = ApprovalSubject {
                entry: &entry,
                caller: &caller,
                args: &args,
                args_sha256: &args_sha256,
                progress: &progress,
                cancel: &cancel,
                peer: cx.peer.as_ref(),
            };
            trail.asked = true;
            let approval = tokio::select! {
                answer = self.gate.approve(ask) => answer?,
                () = cancel.cancelled() => return Err(ToolError::cancelled(entry.name())),
            };
            cx.approval = Some(approval.ask_id.clone());
            trail.approval = Some(approval);
        }
        if let Some((_, key)) = &cache_key
            && let Some(output) = self.cache.get(&entry, key, &trail.notes)
        {
            return Ok(output);
        }
        if meta.effect.is_write() {
            self.ledger.ready().map_err(|error| not_done(&entry, error))?;
        }

        let limit = Duration::from_secs(self.bounds.limits.timeout_seconds(&entry).into());
        let deadline = tokio::time::Instant::now() + limit;
        let cancelled = || ToolError::cancelled(entry.name());
        let late = || {
            cancel.cancel();
            ToolError::timeout(entry.name(), limit)
        };
        let place = tokio::select! {
            // Biased: what is ready wins over a cancellation that came with it, and costs no random number.
            biased;
            place = self.place(&entry, &caller) => place?,
            () = cancel.cancelled() => return Err(cancelled()),
            () = tokio::time::sleep_until(deadline) => return Err(late()),
        };
        let Some(args) = told_before else {
            trail.begun = true;
            let output = tokio::select! {
                biased;
                result = prepared.run(&cx) => result?,
                () = cancel.cancelled() => return Err(cancelled()),
                () = tokio::time::sleep_until(deadline) => return Err(late()),
            };
            if let Some((seconds, key)) = cache_key {
                let kept = Duration::from_secs(seconds.into());
                self.cache.put(&entry, &key, &output, trail.notes.is_simulated(), kept);
            }
            return Ok(output);
        };
        // Not cut short by a cancellation: whether it is recorded has to be known. The store bounds its waits.
        let intent = Intent {
            caller: &caller,
            tool: entry.name(),
            volatile: meta.volatile,
            args,
            args_sha256: &args_sha256,
            request_id: &request_id,
            correlation_id: correlation_id.as_deref(),
            approval: trail.approval.as_ref(),
        };
        trail.intent = Some(self.ledger.intend(intent).await.map_err(|error| not_done(&entry, error))?);
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        trail.begun = true;
        let running = async move {
            // Kept for as long as it runs, whoever still waits for it.
            let _place = place;
            prepared.run(&cx).await
        };
        let WriteOutcome { result, goes_on } =
            deed::attend(entry.name(), running, &cancel, deadline, limit, &trail.notes).await;
        trail.goes_on = goes_on;
        result
    }

    /// A place to run in; waits in a bounded queue.
    async fn place(&self, entry: &Entry, caller: &Arc<Caller>) -> Result<CallPlace, ToolError> {
        if entry.meta().long { self.places.stream(caller) } else { self.places.run(caller).await }
    }
}
