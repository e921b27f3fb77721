//! `system.get_uptime`: how long the machine has been running (docs/contract/system.md).

use super::clock::booted;
use crate::{
    registry::{context::Context, tool::Tool},
    tools::none::NoArgs,
};
use base::{clock as stamp, error::ToolError, os::malformed};
use contract::meta::{Listing, Meta};
use hw::machine::{Machine, unreadable};
use schemars::JsonSchema;
use serde::Serialize;
use time::OffsetDateTime;

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Uptime {
    /// Since boot, time in suspend included.
    uptime_seconds: u64,
    /// UTC, to the second.
    #[schemars(extend("format" = "date-time"))]
    boot_time: String,
}

fn read(machine: &Machine, now: OffsetDateTime) -> Result<Uptime, ToolError> {
    let uptime = machine.about.uptime().map_err(|fault| unreadable("the uptime", &fault))?;
    let boot = booted(now, uptime)
        .ok_or_else(|| unreadable("the uptime", &malformed("proc/uptime", "it began before time")))?;
    Ok(Uptime { uptime_seconds: uptime.as_secs(), boot_time: stamp::stamp(boot) })
}

pub struct GetUptime;

impl Tool for GetUptime {
    type Args = NoArgs;
    type Out = Uptime;
    const META: Meta = Meta {
        name: "system.get_uptime",
        title: "Uptime",
        description: "How long the machine has been running.\n\nUse when: you ask whether it restarted.\n\nReturns: seconds since boot, and boot time.",
        listing: Listing::Extra,
        estimated_tokens: 30,
        tags: &["system", "uptime", "boot"],
        ..Meta::READ
    };

    async fn call(cx: &Context, _: NoArgs) -> Result<Uptime, ToolError> {
        read(&cx.services.machine, OffsetDateTime::now_utc())
    }
}
