//! `system.set_hostname`: sets the machine's name, through the agent.

use super::power::mark;
use crate::registry::{context::Context, tool::Tool};
use agent::{
    hostname::{LONGEST, PATTERN, is_label},
    operations::{hostname as operation, hostname::HostnameRequest},
};
use base::error::ToolError;
use contract::meta::{Listing, Meta};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The new name, one label: a-z, 0-9 and -.
    #[schemars(length(min = 1, max = LONGEST), regex(pattern = PATTERN))]
    #[serde(deserialize_with = "label")]
    hostname: String,
    /// Only say what would change.
    #[serde(default)]
    dry_run: bool,
}

fn label<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    if is_label(&name) {
        return Ok(name);
    }
    Err(D::Error::custom("a host name is 1 to 63 of a-z, 0-9 and -, neither first nor last a -"))
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// The name now; with dry_run, the name it would have.
    hostname: String,
    /// The name before.
    previous_hostname: String,
    /// Whether the two differ.
    changed: bool,
    dry_run: bool,
}

pub struct SetHostname;

impl Tool for SetHostname {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "system.set_hostname",
        title: "Set the host name",
        description: "Name this device, now and after every restart.\n\nUse when: the person wants to call it something else on the network.\n\nReturns: the name now and before.\n\nNote: clients that reach it by name must use the new one.",
        listing: Listing::Extra,
        dry_run: true,
        estimated_tokens: 60,
        tags: &["name", "network"],
        ..Meta::WRITE
    };

    fn asks(args: &Args) -> bool {
        !args.dry_run
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let done = cx
            .services
            .agent
            .call::<operation::SetHostname>(HostnameRequest {
                hostname: args.hostname.clone(),
                dry_run: args.dry_run,
                authorization: cx.authorization(),
            })
            .await?;
        let changed = done.previous != args.hostname;
        mark(cx, done.simulated, changed && !args.dry_run);
        Ok(Out { hostname: args.hostname, previous_hostname: done.previous, changed, dry_run: args.dry_run })
    }
}
