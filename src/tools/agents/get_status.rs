//! `agents.get_status`: one agent, or one type (docs/contract/agents.md).

use super::{NAME, shown::TypeOut};
use crate::registry::{context::Context, tool::Tool};
use base::error::ToolError;
use contract::meta::{Listing, Meta};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// An agent's id, or a type.
    #[schemars(length(min = 1, max = NAME))]
    #[serde(deserialize_with = "crate::tools::bounded::<_, 1, NAME>")]
    agent_id: String,
}

pub struct GetStatus;

impl Tool for GetStatus {
    type Args = Args;
    type Out = TypeOut;
    const META: Meta = Meta {
        name: "agents.get_status",
        title: "Show an agent",
        description: "How an agent is, and which of its tools are on.\n\nUse when: a tool of an agent is missing or fails.\n\nReturns: its type, its state, and for each tool whether the owner has accepted it.",
        listing: Listing::Extra,
        estimated_tokens: 120,
        tags: &["agents"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<TypeOut, ToolError> {
        if let Some(found) = TypeOut::of(cx, &args.agent_id) {
            return Ok(found);
        }
        let agent = cx.services.agents.get(&cx.caller, &args.agent_id)?;
        TypeOut::of(cx, &agent.agent_type).ok_or_else(|| ToolError::internal("an agent without a type"))
    }
}
