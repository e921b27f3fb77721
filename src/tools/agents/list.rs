//! `agents.list`: agents and their types (docs/contract/agents.md).

use super::shown::{AgentOut, TypeOut};
use crate::registry::{context::Context, tool::Tool};
use base::error::ToolError;
use contract::meta::{Listing, Meta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// Yours; an administrator sees all.
    agents: Vec<AgentOut>,
    /// What the owner declared.
    types: Vec<TypeOut>,
}

pub struct List;

impl Tool for List {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "agents.list",
        title: "List agents",
        description: "List the programs that bring tools of their own, and the agents you have spawned.\n\nUse when: you look for such a tool, or for an agent's id.\n\nReturns: ids, types, and which tools are accepted.",
        listing: Listing::Extra,
        estimated_tokens: 200,
        tags: &["agents"],
        ..Meta::READ
    };

    async fn call(cx: &Context, _: Args) -> Result<Out, ToolError> {
        let agents = &cx.services.agents;
        Ok(Out {
            agents: agents.list(&cx.caller).into_iter().map(AgentOut::of).collect(),
            types: agents.declared().iter().filter_map(|declared| TypeOut::of(cx, &declared.name)).collect(),
        })
    }
}
