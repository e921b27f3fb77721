//! `agents.shutdown`: takes an agent's id back (docs/contract/agents.md).

use super::NAME;
use crate::registry::{context::Context, tool::Tool};
use base::error::ToolError;
use contract::meta::{Effect, Listing, Meta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// From agents.spawn.
    #[schemars(length(min = 1, max = NAME))]
    #[serde(deserialize_with = "crate::tools::bounded::<_, 1, NAME>")]
    agent_id: String,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// Whether there was such an agent.
    ended: bool,
}

pub struct Shutdown;

impl Tool for Shutdown {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "agents.shutdown",
        title: "End an agent",
        description: "Take the id of an agent back; its program ends with the last id.\n\nUse when: an agent is not needed any more.\n\nReturns: whether there was one.",
        listing: Listing::Extra,
        effect: Effect::Write { destructive: true, idempotent: true },
        estimated_tokens: 20,
        tags: &["agents"],
        ..Meta::RISKY
    };

    /// Each caller may end what it has spawned; that was asked about.
    fn asks(_: &Args) -> bool {
        false
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let ended = cx.services.agents.shutdown(&cx.caller, &args.agent_id);
        if ended {
            cx.notes.changed();
        }
        Ok(Out { ended })
    }
}
