//! Shared parts of the tools that control a service.

use super::{permit, service_name};
use crate::registry::context::Context;
use agent::{
    operations::service::{ControlRequest, ControlUnit, Controlled, WAIT},
    units::{Action, JobMode},
};
use base::{
    clock,
    error::{ErrorCode, ToolError},
    os::systemd::{
        list::ActiveState,
        name::{LONGEST, PATTERN},
    },
};
use contract::meta::{Effect, Meta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

/// Time limit in seconds: longer than the agent waits for a job, so that its answer arrives.
const SECONDS: u32 = 120;

/// Stopping a service is destructive: its users lose it.
pub(super) const META: Meta = Meta {
    effect: Effect::Write { destructive: true, idempotent: false },
    timeout_seconds: SECONDS,
    long: true,
    tags: &["service", "systemd", "start", "stop"],
    ..Meta::WRITE
};

/// Arguments of a short form.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// With or without ".service".
    #[schemars(length(min = 1, max = LONGEST), regex(pattern = PATTERN))]
    #[serde(deserialize_with = "service_name")]
    pub service_name: String,
}

/// Result of a short form (docs/contract/service.md).
#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// As it was given.
    service_name: String,
    action: Action,
    status: ActiveState,
    previous_status: ActiveState,
    /// When it was done, UTC.
    #[schemars(extend("format" = "date-time"))]
    timestamp: String,
}

pub(super) fn permit_short(cx: &Context, tool: &str, args: &Args, action: Action) -> Result<(), ToolError> {
    permit(cx, tool, &args.service_name, action.word())
}

pub(super) async fn short(cx: &Context, args: Args, action: Action) -> Result<Out, ToolError> {
    let done = act(
        cx,
        ControlRequest {
            short: true,
            service_name: args.service_name.clone(),
            action,
            mode: JobMode::default(),
            wait: true,
            break_dependents: false,
            dry_run: false,
            authorization: cx.authorization(),
        },
    )
    .await?;
    Ok(Out {
        service_name: args.service_name,
        action,
        status: done.now.status,
        previous_status: done.previous.status,
        timestamp: clock::stamp(OffsetDateTime::now_utc()),
    })
}

/// Performs the operation through the agent, and sets the notes for `_meta`.
pub(super) async fn act(cx: &Context, request: ControlRequest) -> Result<Controlled, ToolError> {
    let dry_run = request.dry_run;
    let mut result = cx.services.agent.call::<ControlUnit>(request).await;
    if let Err(error) = &mut result
        && error.code == ErrorCode::Timeout
    {
        error.timeout_ms = u64::try_from(WAIT.as_millis()).ok();
    }
    match &result {
        Ok(done) => mark(cx, done.simulated, !dry_run && (done.now != done.previous || done.job.is_some())),
        // A failed job may have stopped a running service.
        Err(error) if error.details.get("changed").is_some_and(|changed| changed == true) => cx.notes.changed(),
        Err(_) => {}
    }
    result
}

pub(super) fn mark(cx: &Context, simulated: bool, changed: bool) {
    if simulated {
        cx.notes.simulated();
    }
    if changed {
        cx.notes.changed();
    }
}
