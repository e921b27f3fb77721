//! `manage.get_update_status`: the job, the slots, and the result of the last update.

use crate::{
    registry::{context::Context, tool::Tool},
    tools::{common_status::CommonStatus, none::NoArgs},
};
use base::{clock::Stamp, error::ToolError};
use contract::meta::Meta;
use schemars::JsonSchema;
use serde::Serialize;
use update::{
    job::phase_word,
    status::{Attempt, SlotStatus},
};
use update_client::UpdateOverview;

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// Of the newest update: it runs until its trial has ended.
    status: CommonStatus,
    /// checking, comparing, fetching, writing, verifying, armed, trial, committed, rolled_back, failed; null before the first update.
    phase: Option<&'static str>,
    old_version: Option<String>,
    new_version: Option<String>,
    /// What this server does, or did last, for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Job")]
    job: Option<Job>,
    /// tryboot, uboot, custom or simulated: how this board chooses what it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    flow: Option<String>,
    /// Both systems; empty where this machine has none.
    slots: Vec<SlotStatus>,
    /// How the last update ended, kept over restarts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Attempt")]
    last_attempt: Option<Attempt>,
    /// Of a trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    trial_seconds_left: Option<u64>,
    /// What this server found not to work, the last time it looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    health_problems: Option<Vec<String>>,
    /// No release with a smaller counter is installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    counter_floor: Option<u64>,
    /// What is wrong with the records of all this; and why the agent says nothing, where it does not.
    faults: Vec<String>,
}

/// The server's part of an update.
#[derive(Serialize, JsonSchema)]
struct Job {
    job_id: String,
    /// What was called, and by whom.
    tool: String,
    principal: String,
    #[schemars(with = "String", extend("format" = "date-time"))]
    started_at: Stamp,
    /// How often a restarted server took it up again.
    resumed: u32,
    running: bool,
}

pub struct GetUpdateStatus;

impl Tool for GetUpdateStatus {
    type Args = NoArgs;
    type Out = Out;
    const META: Meta = Meta {
        name: "manage.get_update_status",
        title: "Update status",
        description: "How far an update is, or how the last one ended.\n\nUse when: an update runs or failed.\n\nReturns: status, slots, the last attempt with its reason.",
        estimated_tokens: 400,
        tags: &["update", "version", "slots"],
        resource_uri: Some("raspi://update"),
        ..Meta::READ
    };

    async fn call(cx: &Context, _: NoArgs) -> Result<Out, ToolError> {
        let updates = &cx.services.updates;
        let UpdateOverview { summary, job, slots, problems, fault } = updates.overview().await;
        let mut faults: Vec<String> = fault.into_iter().collect();
        let slots = slots.map_err(|error| faults.push(error.advice())).ok();
        if slots.as_ref().is_some_and(|slots| slots.simulated) {
            cx.notes.simulated();
        }
        faults.extend(slots.iter().flat_map(|slots| slots.faults.iter().cloned()));
        // The slot that is not the target of the newest update; before the first update, the running one.
        let old = slots.as_ref().and_then(|status| {
            let target = status.last_attempt.as_ref().map(|last| last.target);
            status.slots.iter().find(|slot| target.map_or(slot.running, |target| slot.slot != target))
        });
        Ok(Out {
            status: (&summary).into(),
            phase: summary.phase.map(phase_word),
            old_version: summary.old_version.or_else(|| old.and_then(|slot| slot.version.clone())),
            new_version: summary.new_version,
            job: job.map(|job| Job {
                running: updates.jobs().runs(),
                job_id: job.order.id,
                tool: job.order.tool,
                principal: job.order.principal,
                started_at: Stamp(job.started_ms),
                resumed: job.resumed,
            }),
            health_problems: problems,
            flow: slots.as_ref().map(|slots| slots.flow.clone()),
            trial_seconds_left: slots.as_ref().and_then(|slots| slots.trial_seconds_left),
            counter_floor: slots.as_ref().map(|slots| slots.counter_floor),
            last_attempt: slots.as_ref().and_then(|slots| slots.last_attempt.clone()),
            slots: slots.map(|slots| slots.slots).unwrap_or_default(),
            faults,
        })
    }
}
