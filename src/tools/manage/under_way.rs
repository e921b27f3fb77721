//! An update under way, as the two tools that begin one follow and answer it.

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
    job::{Jobs, Kept, Order, WantedRelease},
    status::Phase,
};
use update_client::{Summary, UpdateClient, job_id};

/// Whoever cannot be told of progress gets an answer after so long; the update goes on. Clients give up on a silent call after 60 s at
/// times (the default of MCP's TypeScript SDK), proxies after 30 s.
const QUIET: Duration = Duration::from_secs(20);
/// Whoever can is kept for as long as the tool may run, but for some seconds to answer in.
const FOLLOWED: Duration = Duration::from_secs(3600 - 30);

/// What is answered of an update that was begun.
#[derive(Serialize, JsonSchema)]
pub struct Begun {
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

impl Begun {
    /// What a dry run says.
    ///
    /// # Errors
    /// Why there is nothing to install, and what stands in the way of it on the agent's side.
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

/// Begins it for this call's caller.
///
/// # Errors
/// `conflict` while another one is under way; the agent's, where it has no slots or does not answer.
pub async fn begin(cx: &Context, tool: &str, wanted: WantedRelease) -> Result<(), ToolError> {
    let updates = &cx.services.updates;
    updates.jobs().free()?;
    // Whether there is anything to install into is known before anything is fetched.
    let status = cx.services.agent.get::<GetUpdateStatus>().await?;
    let order = Order {
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

/// Follows the job with progress for as long as the caller stays, or as a task where the client has tasks. Leaving ends nothing.
///
/// # Errors
/// Why there is no update.
pub async fn follow(cx: &Context) -> Result<Begun, ToolError> {
    let updates = &cx.services.updates;
    let job = updates.jobs().newest();
    let job_id = job.as_ref().map(|job| job.order.id.clone());
    if let Some(peer) = cx.peer.as_ref().filter(|peer| peer.takes_tasks()) {
        let task = peer.start_task(as_task(updates.clone(), job_id.clone()))?;
        let summary = Summary::of(job.as_ref(), None);
        return Ok(Begun { task: Some(task), ..Begun::of(&summary, job_id) });
    }
    let until = Instant::now() + if cx.progress.wanted() { FOLLOWED } else { QUIET };
    let told = |kept: &Kept| cx.progress.say(kept.percent, Some(100.0), phase(kept.phase), kept.message.clone());
    // Late: it is still running, and the answer says so.
    tokio::select! {
        _ = timeout_at(until, ended(updates.jobs(), job_id.as_deref(), told)) => {}
        () = cx.cancel.cancelled() => {
            let error = ToolError::cancelled("following the update").with("stopped", false);
            return Err(match job_id {
                Some(id) => error.with("job_id", id),
                None => error,
            });
        }
    }
    answer(updates, job_id)
}

/// The answer of a job as it is now.
fn answer(updates: &UpdateClient, job_id: Option<String>) -> Result<Begun, ToolError> {
    let job = updates.jobs().newest();
    if let Some(error) = job.as_ref().and_then(Kept::error) {
        return Err(error);
    }
    Ok(Begun::of(&Summary::of(job.as_ref(), None), job_id))
}

/// Waits for the end of that job, and tells each of its steps.
async fn ended(jobs: &Jobs, id: Option<&str>, told: impl Fn(&Kept)) {
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

/// The same as a task: its end is the tool's result, its cancellation the job's. What is armed by then goes on, and so does the task:
/// a cancellation is a wish (SEP-2663), and `manage.rollback` takes back what is armed.
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
                        // Until nothing of it runs any more, and its record says so.
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

/// As progress names what a call is doing.
fn phase(phase: Phase) -> &'static str {
    update::job::phase_word(phase)
}
