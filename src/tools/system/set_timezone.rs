//! `system.set_timezone`: sets the machine's time zone, through the agent.

use super::power::mark;
use crate::registry::{context::Context, tool::Tool};
use agent::operations::{timezone as operation, timezone::TimezoneRequest};
use base::{
    error::ToolError,
    os::clock::{LONGEST_ZONE, ZONE_PATTERN, is_zone_name},
};
use contract::meta::{Listing, Meta};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Name in the time zone database, e.g. "Europe/London".
    #[schemars(length(min = 1, max = LONGEST_ZONE), regex(pattern = ZONE_PATTERN))]
    #[serde(deserialize_with = "zone")]
    timezone: String,
    /// Only say what would change.
    #[serde(default)]
    dry_run: bool,
}

fn zone<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    if is_zone_name(&name) {
        return Ok(name);
    }
    Err(D::Error::custom("a time zone has a name such as Europe/London: A-Z a-z 0-9 _ + - and /"))
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// The time zone now; with dry_run, the one it would be.
    timezone: String,
    /// The time zone before.
    previous_timezone: String,
    /// Whether the two differ.
    changed: bool,
    dry_run: bool,
}

pub struct SetTimezone;

impl Tool for SetTimezone {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "system.set_timezone",
        title: "Set the time zone",
        description: "Set the time zone of this device, now and after every restart.\n\nUse when: local times are wrong and the UTC time is right.\n\nReturns: the time zone now and before.\n\nNote: programs that run may keep the old one until they are restarted.",
        listing: Listing::Extra,
        dry_run: true,
        estimated_tokens: 60,
        tags: &["time", "timezone"],
        ..Meta::WRITE
    };

    fn asks(args: &Args) -> bool {
        !args.dry_run
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let done = cx
            .services
            .agent
            .call::<operation::SetTimezone>(TimezoneRequest {
                timezone: args.timezone.clone(),
                dry_run: args.dry_run,
                authorization: cx.authorization(),
            })
            .await?;
        let changed = done.previous != args.timezone;
        mark(cx, done.simulated, changed && !args.dry_run);
        Ok(Out { timezone: args.timezone, previous_timezone: done.previous, changed, dry_run: args.dry_run })
    }
}
