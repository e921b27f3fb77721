//! The steps of an admitted call, in their order.

use super::{ApprovalSubject, Call, Pipeline};
use crate::{
    audit::ledger::Intent,
    registry::{
        context::Context,
        deed::{self, WriteOutcome},
        entry::Entry,
        places::CallPlace,
        tool::{SubjectFuture, ToolOutput},
        trail::{Trail, not_done},
    },
};
use base::{canonical, error::ToolError};
use contract::{access::caller::Caller, audit::ApprovalRecord, meta::Mode};
use serde_json::Value;
use std::{sync::Arc, time::Duration};

impl Pipeline {
    /// Serves an admitted call: schema, types, permission, approval, concurrency, intent, handler.
    pub(super) async fn serve(&self, call: Call, trail: &mut Trail) -> Result<ToolOutput, ToolError> {
        let Call { entry, caller, args, alias: _, request_id, correlation_id, cancel, progress, peer } = call;
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
        self.services.halt.check(meta)?;
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
            trail.asked = true;
            let approval = self.approval(&entry, &cx, &args, prepared.subject(&cx)).await?;
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
            by: entry.by(),
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
        // Once more: it may have been halted while this call waited for a person, a place or the card.
        self.services.halt.check(meta)?;
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

    /// A person's approval of this very call: of its arguments, or of what stands for them.
    ///
    /// # Errors
    /// Those of [`super::Gate::approve`]; `cancelled`, and `resource_exhausted` while too many calls of this caller wait.
    async fn approval(
        &self,
        entry: &Arc<Entry>,
        cx: &Context,
        args: &Value,
        subject: Option<SubjectFuture<'_>>,
    ) -> Result<ApprovalRecord, ToolError> {
        let _waits = self.places.approval(&cx.caller)?;
        let cancelled = || ToolError::cancelled(entry.name());
        let subject = match subject {
            Some(subject) => Some(cx.cancel.run_until_cancelled(subject).await.ok_or_else(cancelled)??),
            None => None,
        };
        let of_subject = subject.as_ref().map(canonical::sha256_hex);
        let ask = ApprovalSubject {
            entry,
            caller: &cx.caller,
            args,
            subject: subject.as_ref(),
            args_sha256: of_subject.as_deref().unwrap_or(&cx.args_sha256),
            progress: &cx.progress,
            cancel: &cx.cancel,
            peer: cx.peer.as_ref(),
        };
        tokio::select! {
            answer = self.gate.approve(ask) => answer,
            () = cx.cancel.cancelled() => Err(cancelled()),
        }
    }

    /// A place to run in; waits in a bounded queue.
    async fn place(&self, entry: &Entry, caller: &Arc<Caller>) -> Result<CallPlace, ToolError> {
        if entry.meta().long { self.places.stream(caller) } else { self.places.run(caller).await }
    }
}
