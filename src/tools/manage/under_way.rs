//! A running update, as followed and reported by the two tools that start one.

use crate::{
    registry::context::{Context, TaskEnd, Work},
    tools::common_status::CommonStatus,
};
use agent::operations::update::GetUpdateStatus;
use base::{error::ToolError, os::blocking};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use update::{
    job::{JobRecord, Jobs, UpdateOrder, WantedRelease},
    status::Phase,
};
use update_client::{Summary, UpdateClient, job_id};

/// Time until a caller that cannot receive progress gets an answer; the update continues. Some clients give up on a
/// silent call after 60 s (the default of MCP's TypeScript SDK), proxies after 30 s.
const QUIET: Duration = Duration::from_secs(20);
/// Time that a caller with progress is kept: the tool's time limit minus some seconds for the answer.
const FOLLOWED: Duration = Duration::from_secs(3600 - 30);

/// What is answered of an update that was begun.
#[derive(Serialize, JsonSchema)]
pub struct StartedUpdate {
    /// What runs now.
    old_version: Option<String>,
    new_version: Option<String>,
    status: CommonStatus,
    /// Names the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    job_id: Option<String>,
    dry_run: bool,
    /// The MCP result that names a task, in place of all this.
    #[serde(skip)]
    task: Option<Value>,
}

impl StartedUpdate {
    /// The answer of a dry run.
    ///
    /// # Errors
    /// Why there is nothing to install, and reasons of the agent against it.
    pub async fn planned(cx: &Context, wanted: &WantedRelease) -> Result<Self, ToolError> {
        let updates = &cx.services.updates;
        updates.jobs().free()?;
        let judged = updates.judge(wanted).await?;
        if judged.simulated {
            cx.notes.simulated();
        }
        let summary = Summary {
            phase: None,
            percent: None,
            message: format!("would go into slot {}; nothing was changed", judged.target),
            old_version: Some(updates.running_version().await),
            new_version: Some(judged.version),
            started_ms: None,
            finished_ms: None,
        };
        Ok(Self { dry_run: true, ..Self::of(&summary, None) })
    }

    fn of(summary: &Summary, job_id: Option<String>) -> Self {
        Self {
            old_version: summary.old_version.clone(),
            new_version: summary.new_version.clone(),
            status: summary.into(),
            job_id,
            dry_run: false,
            task: None,
        }
    }

    pub fn task(&self) -> Option<Value> {
        self.task.clone()
    }
}

/// Starts the update for this call's caller.
///
/// # Errors
/// `conflict` while another one runs; the agent's, if it has no slots or does not answer.
pub async fn begin(cx: &Context, tool: &str, wanted: WantedRelease) -> Result<(), ToolError> {
    let updates = &cx.services.updates;
    updates.jobs().free()?;
    // Check that there is a target before anything is fetched.
    let status = cx.services.agent.get::<GetUpdateStatus>().await?;
    let order = UpdateOrder {
        id: job_id()?,
        tool: tool.into(),
        principal: cx.caller.principal.clone(),
        args_sha256: cx.args_sha256.to_string(),
        ask_id: cx.approval.clone(),
        wanted,
        old_version: Some(updates.running_version().await),
    };
    blocking::go_on(tool)?;
    updates.start(&cx.services.machine, order)?;
    if status.simulated {
        cx.notes.simulated();
    }
    cx.notes.changed();
    Ok(())
}

/// Follows the job with progress while the caller waits, or as a task if the client supports tasks. A caller that
/// leaves does not end the job.
///
/// # Errors
/// Why there is no update.
pub async fn follow(cx: &Context) -> Result<StartedUpdate, ToolError> {
    let updates = &cx.services.updates;
    let job = updates.jobs().newest();
    let job_id = job.as_ref().map(|job| job.order.id.clone());
    if let Some(peer) = cx.peer.as_ref().filter(|peer| peer.takes_tasks()) {
        let task = peer.start_task(as_task(updates.clone(), job_id.clone()))?;
        let summary = Summary::of(job.as_ref(), None);
        return Ok(StartedUpdate { task: Some(task), ..StartedUpdate::of(&summary, job_id) });
    }
    let until = Instant::now() + if cx.progress.wanted() { FOLLOWED } else { QUIET };
    let told = |kept: &JobRecord| cx.progress.say(kept.percent, Some(100.0), phase(kept.phase), kept.message.clone());
    // At the timeout it still runs, and the answer says so.
    tokio::select! {
        _ = timeout_at(until, ended(updates.jobs(), job_id.as_deref(), told)) => {}
        () = cx.cancel.cancelled() => {
            let error = ToolError::cancelled("following the update").with("stopped", false);
            return Err(error.with_some("job_id", job_id));
        }
    }
    answer(updates, job_id)
}

/// The answer for a job in its current state.
fn answer(updates: &UpdateClient, job_id: Option<String>) -> Result<StartedUpdate, ToolError> {
    let job = updates.jobs().newest();
    if let Some(error) = job.as_ref().and_then(JobRecord::error) {
        return Err(error);
    }
    Ok(StartedUpdate::of(&Summary::of(job.as_ref(), None), job_id))
}

/// Waits for the end of that job; calls `told` for each step.
async fn ended(jobs: &Jobs, id: Option<&str>, told: impl Fn(&JobRecord)) {
    let mut changes = jobs.changes();
    loop {
        match jobs.newest().filter(|kept| Some(kept.order.id.as_str()) == id) {
            Some(kept) if jobs.runs() => told(&kept),
            _ => return,
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// The same as a task: the end of the job is the tool's result, cancelling the task cancels the job. An armed update
/// continues, and so does the task: a cancellation is only a request (SEP-2663), and `manage.rollback` reverts an armed
/// update.
fn as_task(updates: UpdateClient, job_id: Option<String>) -> Work {
    Box::new(move |task| {
        Box::pin(async move {
            let cancelled = {
                let jobs = updates.jobs();
                let over = ended(jobs, job_id.as_deref(), |_| {});
                tokio::pin!(over);
                tokio::select! {
                    biased;
                    () = &mut over => false,
                    () = task.cancelled() => {
                        let ends = job_id.as_deref().is_some_and(|id| jobs.cancel_of(id));
                        // Until the job has stopped and its record was updated.
                        over.await;
                        ends
                    }
                }
            };
            if cancelled {
                return Err(TaskEnd::Cancelled);
            }
            let payload = match answer(&updates, job_id) {
                Ok(begun) => serde_json::to_value(&begun).unwrap_or_default(),
                Err(error) => return Ok(error.result()),
            };
            Ok(result(&payload))
        })
    })
}

fn result(payload: &Value) -> Value {
    json!({
        "content": [{ "type": "text", "text": payload.to_string() }],
        "structuredContent": payload,
        "isError": false,
    })
}

/// The phase as named in progress messages.
fn phase(phase: Phase) -> &'static str {
    update::job::phase_word(phase)
}
