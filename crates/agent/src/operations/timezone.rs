//! Sets the time zone.

use super::Operation;
use crate::{authorization::Authorization, context::Context};
use appliance::timezone as bound;
use base::{
    error::ToolError,
    os::{Root, blocking, clock},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use update::slots::Step;

const TOOL: &str = "system.set_timezone";

/// The new time zone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimezoneRequest {
    /// A name in the time zone database.
    pub timezone: String,
    /// Judge it and change nothing.
    pub dry_run: bool,
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// The outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timezone {
    pub previous: String,
    pub simulated: bool,
}

/// Sets the time zone, now and for every later start.
pub struct SetTimezone;

impl Operation for SetTimezone {
    const TAG: &'static str = "set_timezone";
    const ANSWER: &'static str = "timezone";
    const CHANGES: bool = true;
    type Request = TimezoneRequest;
    type Answer = Timezone;

    fn was_shown(request: &TimezoneRequest, args: &Value) -> bool {
        args.get("timezone") == Some(&json!(request.timezone))
    }

    async fn run(cx: &Context<'_>, request: TimezoneRequest) -> Result<Timezone, ToolError> {
        let result = set(cx, &request).await;
        cx.noted(Self::TAG, json!(request), result)
    }
}

async fn set(cx: &Context<'_>, request: &TimezoneRequest) -> Result<Timezone, ToolError> {
    cx.policy().check(TOOL)?;
    let (root, zone) = (&cx.settings.root, request.timezone.as_str());
    let previous = cx.machine.timezone()?;
    check(root, zone, cx.simulated)?;
    if !request.dry_run {
        cx.admit(TOOL, &request.authorization, |args| SetTimezone::was_shown(request, args))?;
        let done = if !cx.simulated && bound::is_ours(root) {
            bind(cx, zone).await
        } else {
            cx.machine.set_timezone(zone).await
        };
        done.map_err(ToolError::maybe_changed)?;
    }
    Ok(Timezone { previous, simulated: cx.simulated })
}

/// The choice is recorded first: if the power fails then, the next start applies it.
async fn bind(cx: &Context<'_>, zone: &str) -> Result<(), ToolError> {
    let (system, root, zone) = (cx.installer.system()?, cx.settings.root.clone(), zone.to_owned());
    blocking::run("system", move |_| {
        system.record.step(|state| Ok(bound::to_keep(&zone, state).map_or_else(Step::default, Step::to)))?;
        bound::apply(&root, &zone).map_err(|error| {
            ToolError::unavailable(format!("the time zone is recorded, but cannot be set now: {error}"))
                .with("kept", true)
                .hint("it will be the machine's time zone from its next start on")
        })
    })
    .await
}

/// On a simulated machine the name is enough: its computer may have no time zone database.
fn check(root: &Root, zone: &str, simulated: bool) -> Result<(), ToolError> {
    let has_database = root.has(clock::ZONES);
    if clock::is_zone_name(zone) && (clock::is_zone(root, zone) || simulated && !has_database) {
        return Ok(());
    }
    if !has_database {
        return Err(ToolError::missing(format!("this machine has no time zone database (/{})", clock::ZONES))
            .hint("install the package tzdata"));
    }
    let shown: String = zone.chars().take(clock::LONGEST_ZONE).collect();
    let like = clock::zones_like(root, zone);
    let hint = if like.is_empty() {
        "a name of the time zone database: Europe/London, America/New_York, UTC".to_owned()
    } else {
        format!("perhaps {}", like.join(" or "))
    };
    let error = if clock::is_zone_name(zone) { ToolError::not_found } else { ToolError::invalid };
    Err(error(format!("there is no time zone {shown:?}"))
        .with("parameter", "timezone")
        .with("provided_value", shown)
        .hint(hint))
}
