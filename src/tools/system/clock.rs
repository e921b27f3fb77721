//! `system.get_clock`: the machine's time, and whether it is reliable (docs/contract/system.md).

use crate::{
    registry::{context::Context, tool::Tool},
    tools::none::NoArgs,
};
use base::{
    clock as stamp,
    error::ToolError,
    os::{clock, ids, malformed},
};
use contract::meta::{Listing, Meta};
use hw::machine::{Machine, unreadable};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;
use time::OffsetDateTime;

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ClockStatus {
    /// UTC.
    #[schemars(extend("format" = "date-time"))]
    time: String,
    /// Name in the time zone database, e.g. "Europe/London".
    timezone: String,
    /// What local time is called now, e.g. "BST".
    timezone_abbreviation: String,
    /// Local time minus UTC, summer time included.
    #[schemars(range(min = -86400, max = 86400))]
    utc_offset_seconds: i32,
    /// Whether the clock has been set from the network since boot; absent where nothing tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    ntp_synchronized: Option<bool>,
    uptime_seconds: u64,
    #[schemars(extend("format" = "date-time"))]
    boot_time: String,
    /// Another one after every boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "uuid"))]
    boot_id: Option<String>,
    /// What is wrong with the zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

fn read(machine: &Machine, now: OffsetDateTime) -> Result<ClockStatus, ToolError> {
    let root = &machine.root;
    let zone_fault = |fault| unreadable("the time zone", &fault);
    let zone = clock::zone(root).map_err(zone_fault)?;
    let (utc_offset_seconds, timezone_abbreviation) = zone.offset(now.unix_timestamp()).map_err(zone_fault)?;
    let uptime = machine.about.uptime().map_err(|fault| unreadable("the uptime", &fault))?;
    let boot = booted(now, uptime)
        .ok_or_else(|| unreadable("the uptime", &malformed("proc/uptime", "it began before time")))?;
    Ok(ClockStatus {
        time: stamp::stamp(now),
        timezone: zone.name,
        timezone_abbreviation,
        utc_offset_seconds,
        ntp_synchronized: clock::synchronized(root),
        uptime_seconds: uptime.as_secs(),
        boot_time: stamp::stamp(boot),
        boot_id: ids::boot(root).ok(),
        note: zone.missing,
    })
}

/// Rounded to a second, because the two clocks are not read at the same instant and the result would fluctuate.
fn booted(now: OffsetDateTime, uptime: Duration) -> Option<OffsetDateTime> {
    let boot = now.checked_sub(uptime.try_into().ok()?)?.checked_add(time::Duration::milliseconds(500))?;
    boot.replace_nanosecond(0).ok()
}

pub struct GetClock;

impl Tool for GetClock {
    type Args = NoArgs;
    type Out = ClockStatus;
    const META: Meta = Meta {
        name: "system.get_clock",
        title: "Clock",
        description: "The machine's time and zone, and whether the network sets it.\n\nUse when: times look wrong, or you ask whether it rebooted.\n\nReturns: UTC time, zone, synchronisation, uptime, boot time and id.",
        listing: Listing::Extra,
        estimated_tokens: 110,
        tags: &["system", "time", "ntp"],
        ..Meta::READ
    };

    async fn call(cx: &Context, _: NoArgs) -> Result<ClockStatus, ToolError> {
        read(&cx.services.machine, OffsetDateTime::now_utc())
    }
}
