//! One call, from its name to its terminal answer, in this order and no other:
//!
//! budget and rate → role → schema → types → halt → permission → approval → concurrency → intent → handler → result → audit.
//!
//! Every transport enters here. Refusals, timeouts, cancellations and panics are audited like answers. The arguments of a call are
//! not read before it was charged to its caller's budget, and no write is done before its intent is in the audit.

mod record;
mod serve;

use super::{
    Registry,
    admission::Admission,
    answer_meta::AnswerMeta,
    bounds::{ServerLimits, ServerLoad},
    compat::{self, Alias},
    context::Notes,
    deed,
    entry::Entry,
    gates,
    listing::Listings,
    places::CallPlaces,
    progress::Progress,
    refusal,
    tool::ToolOutput,
    trail::{Trail, panicked},
};
use crate::{audit::ledger::AuditLedger, services::Services};
use base::error::{ErrorCode, ToolError};
use contract::{
    access::caller::Caller,
    audit::{ApprovalRecord, changed::Changed},
};
use futures::FutureExt;
use record::Of;
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
    /// Always a JSON object; the router refuses anything else.
    pub args: Value,
    /// The name of another server that it was called by; the arguments are those of that name.
    pub alias: Option<&'static Alias>,
    /// The JSON-RPC id, canonical form.
    pub request_id: String,
    pub correlation_id: Option<String>,
    pub cancel: CancellationToken,
    pub progress: Progress,
    /// The client, if it can be asked something.
    pub peer: Option<Arc<dyn super::context::ClientPeer>>,
}

/// The tool of a call, its arguments, and the name of another server that it was called by.
pub type CallTarget = (Arc<Entry>, Value, Option<&'static Alias>);

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

/// Asks a person for approval. Implemented by the link to the agent, which holds the questions.
pub trait Gate: Send + Sync {
    /// Returns the approval of this very call.
    ///
    /// # Errors
    /// `failed_precondition` while nobody has answered, `permission_denied` when a person denied it, `unavailable` when the
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
    /// What stands for the arguments; [`super::added::ToolHandler::subject`].
    pub subject: Option<&'a Value>,
    /// SHA-256 of the canonical JSON of the subject or the arguments; of the arguments as the audit has it.
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
            listings: Listings::new(Arc::clone(&registry), bounds.limits),
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

    /// The call that is to run for a call of `entry`, which was `written` so: itself, or the one that its arguments hold
    /// (`tools.run`). One that cannot run stays as it is, and its tool says why.
    pub fn unwrap(&self, caller: &Caller, written: &str, entry: Arc<Entry>, args: Value) -> CallTarget {
        let Some(carried) = entry.carried(&args) else { return (entry, args, compat::find(written)) };
        let Ok((inner, _)) = self.registry.resolve(&carried.tool) else { return (entry, args, None) };
        let policy = self.services.policy.get();
        // Only its own switch: the role is that of the tool that runs.
        let is_on = policy.off_for(&entry.meta(), Some(&caller.principal)).is_none();
        let is_unfit = inner.carries() || inner.meta().effect.is_write() && !entry.meta().effect.is_write();
        if is_on && !is_unfit { (inner, carried.args, compat::find(&carried.tool)) } else { (entry, args, None) }
    }

    /// The current load.
    pub fn load(&self) -> ServerLoad {
        self.places.load()
    }

    /// Runs `call` to its end. Never panics and never answers twice; dropping the future cancels the call. A write has a task of
    /// its own, so that its record is written even if the caller disconnects.
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
        let of = Of {
            entry: Arc::clone(&call.entry),
            caller: Arc::clone(&call.caller),
            request_id: call.request_id.clone(),
            correlation_id: call.correlation_id.clone(),
            started: Instant::now(),
        };
        let (entry, caller) = (&of.entry, &of.caller);
        let progress = call.progress.clone();
        let mut trail = Trail::default();

        let admitted = self.admission.admit(&self.services, &self.bounds.limits, &call);
        let alias = call.alias;
        let (mut kept, mut fault) = (Default::default(), admitted.as_ref().err().cloned());
        // A call beyond a limit is refused unread.
        if let Some(alias) =
            alias.filter(|_| fault.as_ref().is_none_or(|fault| fault.code != ErrorCode::ResourceExhausted))
        {
            match alias.translate(&self.services, &mut call.args) {
                Ok(translated) => kept = translated,
                Err(unfit) => drop(fault.get_or_insert(unfit)),
            }
        }
        let named = refusal::Named::of(entry.name(), &call.args);
        let (served, unseen) = match fault {
            None => {
                entry.normalise(&mut call.args);
                (AssertUnwindSafe(self.serve(call, &mut trail)).catch_unwind().await, Value::Null)
            }
            Some(refusal) => (Ok(Err(refusal)), call.args),
        };
        let result = served
            .unwrap_or_else(|_| {
                if trail.intent.is_some() {
                    trail.notes.unknown();
                }
                Err(panicked(entry, &of.request_id))
            })
            .map_err(|mut error| {
                gates::tell(&self.services, entry, caller, &named, admitted.is_err().then_some(&unseen), &mut error);
                refusal::complete(entry, caller, named, error)
            });
        let refused = trail.is_refusal(entry, &result);
        if let Ok(taken) = admitted {
            self.admission.settle(entry, caller, taken, refused);
        }
        let mut result = result.and_then(|output| self.within_bounds(entry, output));
        progress.close();
        if let Err(error) = &mut result
            && entry.meta().effect.is_write()
        {
            if trail.begun {
                deed::learn(&trail.notes, error);
            }
            deed::say(error, trail.changed());
        }
        let mut outcome = self.record(of, trail, refused, &unseen, result).await;
        if let Some(alias) = alias {
            outcome.result = alias.answer(&kept, outcome.result);
        }
        outcome
    }

    /// # Errors
    /// `content_too_large` for an answer that is longer than the limit.
    fn within_bounds(&self, entry: &Entry, output: ToolOutput) -> Result<ToolOutput, ToolError> {
        let (has, limit) = (output.json.get().len(), self.bounds.response_bytes);
        if has <= limit {
            return Ok(output);
        }
        let message = format!("the answer of {} has {has} bytes, at most {limit} are sent", entry.name());
        Err(ToolError::new(ErrorCode::ContentTooLarge, message)
            .with("limit_bytes", limit)
            .hint("ask for less: a smaller limit, a filter or a shorter time"))
    }
}
