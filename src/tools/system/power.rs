//! Shared by `system.reboot` and `system.shutdown`: the agent performs them after a delay, and they can be cancelled.

use crate::registry::context::Context;
use agent::{
    PowerAction,
    operations::power::{self, PowerRequest},
};
use base::error::ToolError;
use contract::audit::rfc3339;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

/// Longest reason, in characters.
const REASON: usize = 200;
/// Longest delay, in seconds.
const DELAY: u32 = agent::power::MAX_DELAY_SECONDS;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Why: shown to the person who approves it, and kept in the audit.
    #[schemars(length(max = REASON))]
    #[serde(default, deserialize_with = "reason")]
    reason: Option<String>,
    /// Seconds until it happens; it can be cancelled meanwhile.
    #[schemars(range(min = 0, max = DELAY))]
    #[serde(default = "five", deserialize_with = "delay")]
    delay_seconds: u32,
    /// Take back what is scheduled instead; goes without delay_seconds.
    #[serde(default)]
    pub(super) cancel: bool,
}

const fn five() -> u32 {
    5
}

/// # Errors
/// `invalid_argument` for a delay together with a cancellation.
pub(super) fn check(args: &Args) -> Result<(), ToolError> {
    if args.cancel && args.delay_seconds != five() {
        return Err(ToolError::ignored("delay_seconds", "cancel takes back what is scheduled, at once"));
    }
    Ok(())
}

fn reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let reason = Option::<String>::deserialize(deserializer)?;
    match reason.as_ref().map(|reason| reason.chars().count()) {
        Some(length) if length > REASON => {
            Err(D::Error::custom(format!("{length} characters where {REASON} are allowed")))
        }
        _ => Ok(reason),
    }
}

fn delay<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        delay if delay <= DELAY => Ok(delay),
        delay => Err(D::Error::custom(format!("{delay} seconds where {DELAY} are allowed"))),
    }
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// Whether it is scheduled now.
    scheduled: bool,
    /// Seconds from now; 0 when none is scheduled.
    effective_after_seconds: u32,
    /// When, RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    reason: Option<String>,
    /// With cancel: whether there was something to cancel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    cancelled: Option<bool>,
}

/// Schedules `action` through the agent, or cancels it.
pub(super) async fn call(cx: &Context, action: PowerAction, args: Args) -> Result<Out, ToolError> {
    let agent = &cx.services.agent;
    if args.cancel {
        let done = agent.call::<power::CancelPower>(power::CancelRequest { action }).await?;
        mark(cx, done.simulated, done.cancelled);
        return Ok(Out {
            scheduled: false,
            effective_after_seconds: 0,
            at: None,
            reason: args.reason,
            cancelled: Some(done.cancelled),
        });
    }
    let scheduled = agent
        .call::<power::SchedulePower>(PowerRequest {
            action,
            delay_seconds: args.delay_seconds,
            reason: args.reason,
            authorization: cx.authorization(),
        })
        .await?;
    mark(cx, scheduled.simulated, true);
    Ok(Out {
        scheduled: true,
        effective_after_seconds: args.delay_seconds,
        at: Some(rfc3339(scheduled.at_ms)),
        reason: scheduled.reason,
        cancelled: None,
    })
}

/// Sets the notes for `_meta` after an operation of the agent.
pub fn mark(cx: &Context, simulated: bool, changed: bool) {
    if simulated {
        cx.notes.simulated();
    }
    if changed {
        cx.notes.changed();
    }
}
