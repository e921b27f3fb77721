//! `tools.search`: the few tools that fit a question, for clients that cannot hold the whole list.

use crate::{
    error::ToolError,
    registry::{
        context::Context,
        meta::{Meta, Role, Tier},
        tool::Tool,
    },
    tools::page::{Limit, Offset, Pagination},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Words in names, titles, tags and descriptions.
    #[schemars(length(min = 1, max = 200))]
    #[serde(deserialize_with = "crate::tools::bounded::<_, 1, 200>")]
    query: String,
    /// Like "gpio".
    namespace: Option<String>,
    /// With a typical answer of so many tokens at most.
    max_tokens: Option<u32>,
    #[serde(default)]
    limit: Limit,
    #[serde(default)]
    offset: Offset,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    tools: Vec<Found>,
    pagination: Pagination,
}

#[derive(Serialize, JsonSchema)]
struct Found {
    name: String,
    title: String,
    /// First sentence of the description.
    summary: String,
    tier: TierName,
    required_role: RoleName,
    /// Whether this caller can call it now.
    enabled: bool,
    /// Why not, and what would change that.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    estimated_tokens: u32,
}

#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
struct TierName(#[schemars(extend("enum" = ["fundamental", "advanced", "professional"]), with = "String")] Tier);

#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
struct RoleName(#[schemars(extend("enum" = ["read_only", "ops_rw", "admin"]), with = "String")] Role);

pub struct Search;

impl Tool for Search {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "tools.search",
        title: "Search tools",
        description: "Find tools by what they do.\n\nUse when: you need what is not in your list, or why a tool is off.\n\nReturns: tools, best first, with role, tier and whether you may call them.",
        estimated_tokens: 400,
        paginated: true,
        tags: &["discovery"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let words: Vec<String> = args.query.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let mut found: Vec<(u32, &'static Meta)> = cx
            .world
            .registry
            .entries()
            .map(|entry| entry.meta)
            .filter(|meta| args.namespace.as_ref().is_none_or(|namespace| meta.namespace() == namespace))
            .filter(|meta| args.max_tokens.is_none_or(|most| meta.estimated_tokens <= most))
            .filter_map(|meta| score(meta, &words).map(|score| (score, meta)))
            .collect();
        found.sort_by_key(|(score, meta)| (std::cmp::Reverse(*score), meta.name));
        let (page, pagination) = Pagination::of(found, args.limit, args.offset);
        let tools = page
            .into_iter()
            .map(|(_, meta)| {
                let refusal = cx.world.policy.admit(meta, &cx.caller).err();
                Found {
                    name: meta.name.to_owned(),
                    title: meta.title.to_owned(),
                    summary: meta.description.lines().next().unwrap_or_default().to_owned(),
                    tier: TierName(meta.tier),
                    required_role: RoleName(meta.role),
                    enabled: refusal.is_none(),
                    reason: refusal.as_ref().map(ToolError::advice),
                    estimated_tokens: meta.estimated_tokens,
                }
            })
            .collect();
        Ok(Out { tools, pagination })
    }
}

/// Every word must be found somewhere; names weigh most. `None`: no match.
fn score(meta: &Meta, words: &[String]) -> Option<u32> {
    let (name, title, description) =
        (meta.name.to_lowercase(), meta.title.to_lowercase(), meta.description.to_lowercase());
    words
        .iter()
        .map(|word| {
            let word = word.as_str();
            let found = u32::from(name.contains(word)) * 8
                + u32::from(title.contains(word)) * 4
                + u32::from(meta.tags.iter().any(|tag| tag.contains(word))) * 4
                + u32::from(description.contains(word));
            (found > 0).then_some(found)
        })
        .sum()
}
