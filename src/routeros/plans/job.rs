//! The work on a plan: one router after another, in batches with a pause. It ends at the first router that fails. Its file is written
//! before each router, so that after the end of this program the one in doubt is known: it is read, never written again.

use super::{
    super::{
        call::Report,
        plan::{AddedRows, Applied, Apply, Outcome},
        routers::Router,
    },
    files::Files,
    record::{Job, Plan, Step},
    work::Claim,
};
use base::error::ToolError;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A job with all that it needs; it goes on when nobody waits for it any more.
pub struct Runner {
    pub files: Arc<Files>,
    pub routers: BTreeMap<String, Arc<Router>>,
    pub plan: Plan,
    pub job: Job,
    pub progress: Report,
    pub cancel: CancellationToken,
    pub _claim: Claim,
}

impl Runner {
    /// Does all of it. What became of each router is in the job, and in its file.
    ///
    /// # Errors
    /// When a file cannot be written: nothing more is written to a router then.
    pub async fn run(mut self) -> Result<Job, ToolError> {
        let mut since_pause = 0;
        let mut ending = None;
        for at in 0..self.job.devices.len() {
            let step = self.job.devices[at].status;
            if !matches!(step, Step::Waiting | Step::Writing) {
                continue;
            }
            // What was begun is always ended.
            if step == Step::Waiting {
                if ending.is_none() && since_pause >= self.job.batch_size {
                    self.pause().await;
                    since_pause = 0;
                }
                if ending.is_none() && self.cancel.is_cancelled() {
                    ending = Some("cancelled");
                }
                if ending.is_some() {
                    self.job.devices[at].status = Step::Untouched;
                    continue;
                }
            }
            self.one(at).await?;
            since_pause += 1;
            (self.progress)(at as u64 + 1, self.job.devices.len() as u64, &self.job.devices[at].device_id);
            if !matches!(self.job.devices[at].status, Step::Success | Step::Unchanged) {
                ending = Some("halted");
            }
        }
        self.job.state = ending.unwrap_or("done").into();
        // The plan first: a job that says "running" is looked at again.
        self.ended()?;
        self.files.keep_job(&self.job)?;
        Ok(self.job)
    }

    async fn pause(&self) {
        let pause = Duration::from_secs(self.job.batch_pause_seconds);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = self.cancel.cancelled() => {}
        }
    }

    /// One router: its step is kept before the first write, and after the last one.
    async fn one(&mut self, at: usize) -> Result<(), ToolError> {
        let (planned, begun) = (&self.plan.devices[at], Instant::now());
        if planned.changes.is_empty() {
            self.job.devices[at].status = Step::Unchanged;
            return Ok(());
        }
        let is_resumed = self.job.devices[at].status == Step::Writing;
        self.job.devices[at].status = Step::Writing;
        self.files.keep_job(&self.job)?;
        let Some(router) = self.routers.get(&planned.device_id) else {
            let step = &mut self.job.devices[at];
            step.status = if is_resumed { Step::Unknown } else { Step::Failed };
            step.error = Some(format!("there is no router {} any more", planned.device_id));
            return self.files.keep_job(&self.job);
        };
        let (files, plan_id, base) = (&self.files, &self.plan.plan_id, planned.base.hash());
        let before = std::sync::Mutex::new(None);
        let keep = |export: &str| {
            let id = files.keep_snapshot(&planned.device_id, plan_id, "before", export)?;
            *before.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(id);
            Ok(())
        };
        let apply = Apply {
            device: router.client.device(),
            plan: plan_id,
            changes: &planned.changes,
            base: &base,
            timer: Duration::from_secs(self.plan.timer_seconds),
            keep: &keep,
            added: AddedRows::default(),
        };
        let applied =
            if is_resumed { apply.resume(&planned.base).await } else { apply.run_and_look(&planned.base).await };
        router.note(applied.as_ref().err());
        let before = before.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let after = match &applied {
            Ok(applied) => files.keep_snapshot(&planned.device_id, plan_id, "after", &applied.after).ok(),
            Err(_) => None,
        };
        let step = &mut self.job.devices[at];
        step.snapshot_before = step.snapshot_before.take().or(before);
        step.snapshot_after = after;
        step.execution_time_ms = u64::try_from(begun.elapsed().as_millis()).ok();
        (step.status, step.error) = match applied {
            Ok(Applied { outcome: Outcome::Confirmed, .. }) => (Step::Success, None),
            Ok(Applied { outcome: Outcome::TakenBack(why), .. }) => (Step::TakenBack, Some(why.advice())),
            Err(error) if error.may_have_changed() => (Step::Unknown, Some(error.advice())),
            Err(error) => (Step::Failed, Some(error.advice())),
        };
        self.files.keep_job(&self.job)
    }

    /// Says in the plan what became of it.
    fn ended(&mut self) -> Result<(), ToolError> {
        let is_done = self.job.state == "done";
        self.plan.status = if is_done { "applied" } else { "halted" }.into();
        self.files.keep_plan(&self.plan)?;
        if let (Some(id), true) = (&self.plan.rollback_of, is_done) {
            let mut original = self.files.plan(id)?;
            original.status = "rolled_back".into();
            self.files.keep_plan(&original)?;
        }
        Ok(())
    }
}
