//! `system.reboot`: a restart in a while, done by the agent (document 000, section 3.3).

use crate::{
    access::audit::rfc3339,
    agent::RebootRequest,
    error::ToolError,
    registry::{context::Context, meta::Meta, tool::Tool},
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

/// Longest reason, in characters.
const REASON: usize = 200;
/// Longest delay, in seconds.
const DELAY: u32 = crate::agent::power::MAX_DELAY_SECONDS;

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
    /// Take the scheduled reboot back instead; delay_seconds then does not matter.
    #[serde(default)]
    cancel: bool,
}

fn five() -> u32 {
    5
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
    /// Whether a reboot is scheduled now.
    scheduled: bool,
    /// Seconds from now; 0 when none is scheduled.
    effective_after_seconds: u32,
    /// When, RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    reboot_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    reason: Option<String>,
    /// With cancel: whether there was a reboot to cancel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    cancelled: Option<bool>,
}

pub struct Reboot;

impl Tool for Reboot {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "system.reboot",
        title: "Reboot the device",
        description: "Restart this device after a delay, or cancel that.\n\nUse when: the person asks for a restart, or an update needs one.\n\nReturns: whether it is scheduled, and when.\n\nNote: by default a person approves a restart (not a cancellation); connections end when it happens.",
        estimated_tokens: 60,
        tags: &["power", "restart"],
        ..Meta::RISKY
    };

    fn asks(args: &Args) -> bool {
        !args.cancel
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        if args.cancel {
            let done = cx.world.agent.cancel_reboot().await?;
            mark(cx, done.simulated, done.cancelled);
            return Ok(Out {
                scheduled: false,
                effective_after_seconds: 0,
                reboot_at: None,
                reason: args.reason,
                cancelled: Some(done.cancelled),
            });
        }
        let reboot = cx
            .world
            .agent
            .reboot(RebootRequest {
                delay_seconds: args.delay_seconds,
                reason: args.reason,
                principal: cx.caller.principal.clone(),
                tool: Self::META.name.to_owned(),
                args_sha256: cx.args_sha256.to_string(),
                ask_id: cx.approval.clone(),
            })
            .await?;
        mark(cx, reboot.simulated, true);
        Ok(Out {
            scheduled: true,
            effective_after_seconds: args.delay_seconds,
            reboot_at: Some(rfc3339(reboot.at_ms)),
            reason: reboot.reason,
            cancelled: None,
        })
    }
}

fn mark(cx: &Context, simulated: bool, changed: bool) {
    if simulated {
        cx.notes.simulated();
    }
    if changed {
        cx.notes.changed();
    }
}
