//! `agents.spawn`: an agent of a declared type (docs/contract/agents.md).

use super::{NAME, shown::AgentOut};
use crate::registry::{context::Context, tool::Tool};
use base::error::ToolError;
use contract::{
    config::sections::agents::VIEWS,
    meta::{Effect, Listing, Meta},
};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// A type that the owner declared, or "systemd", "file", "network", "process" or "exec" for this server's own tools.
    #[schemars(length(min = 1, max = NAME))]
    #[serde(deserialize_with = "crate::tools::bounded::<_, 1, NAME>")]
    r#type: String,
}

pub struct Spawn;

impl Tool for Spawn {
    type Args = Args;
    type Out = AgentOut;
    const META: Meta = Meta {
        name: "agents.spawn",
        title: "Start an agent",
        description: "Start a program that brings tools of its own, if the owner declared it.\n\nUse when: tasks go to an agent by its id.\n\nReturns: an id that is yours alone.\n\nNote: its tools can be called by their names without it.",
        listing: Listing::Extra,
        effect: Effect::Write { destructive: false, idempotent: false },
        timeout_seconds: 30,
        estimated_tokens: 60,
        tags: &["agents"],
        ..Meta::RISKY
    };

    /// Nobody is asked about a type that there is not.
    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        cx.services.agents.check_type(&args.r#type)
    }

    /// A view starts nothing.
    fn asks(args: &Args) -> bool {
        !VIEWS.contains(&args.r#type.as_str())
    }

    async fn call(cx: &Context, args: Args) -> Result<AgentOut, ToolError> {
        let agent = cx.services.agents.spawn(&cx.caller, &args.r#type).await?;
        cx.notes.changed();
        Ok(AgentOut::of(agent))
    }
}
