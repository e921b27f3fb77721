//! `tools.search`: the few tools that fit a question, for clients that cannot hold the whole list.

use super::{
    access::Access,
    ranking::{self, Ranking},
};
use crate::{
    registry::{context::Context, entry::Entry, tool::Tool},
    tools::page::{Offset, PageLimit, Pagination},
};
use base::{
    error::ToolError,
    os::blocking::{self, Turns},
};
use contract::meta::{Declaration, Meta, Role, Tier};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What you want to do, in your own words.
    #[schemars(length(min = 1, max = 200))]
    #[serde(deserialize_with = "crate::tools::bounded::<_, 1, 200>")]
    query: String,
    /// Like "gpio".
    namespace: Option<String>,
    /// Longest typical answer, in tokens.
    max_tokens: Option<u32>,
    #[serde(default)]
    limit: PageLimit,
    #[serde(default)]
    offset: Offset,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    tools: Vec<Found>,
    pagination: Pagination,
    /// How a misspelled word was read, or why nothing is found.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
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
    /// The tool that calls it, where it is not in tools/list.
    #[serde(skip_serializing_if = "Option::is_none")]
    call_with: Option<String>,
    estimated_tokens: u32,
}

#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
struct TierName(#[schemars(extend("enum" = ["fundamental", "advanced", "professional"]), with = "String")] Tier);

#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
struct RoleName(#[schemars(extend("enum" = ["read_only", "ops_rw", "admin"]), with = "String")] Role);

/// Each search makes a table of its own in memory, of 0.6 MB.
static TURNS: Turns = Turns::new(2);

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
        let policy = cx.services.policy.get();
        let can_reach = |entry: &Arc<Entry>| entry.lacks(&cx.services, &policy, &cx.caller).is_none();
        let tools: Vec<Arc<Entry>> = cx.registry.entries().filter(can_reach).collect();
        let question = args.query.clone();
        let _turn = TURNS.take(Self::META.name).await?;
        let ranking = blocking::run("tools.search", move |_| {
            ranking::rank(tools, &question).map_err(|error| ToolError::internal(format!("SQLite: {error}")))
        })
        .await?;
        let found = ranking.relevant(|meta| args.takes(meta));
        let note = args.note(&ranking, found.len());
        let (page, pagination) = Pagination::of(found, args.limit, args.offset);
        let tools = page.iter().map(|entry| Found::of(cx, entry)).collect();
        Ok(Out { tools, pagination, note })
    }
}

impl Args {
    fn takes(&self, meta: &Declaration<'_>) -> bool {
        self.namespace.as_ref().is_none_or(|namespace| meta.namespace() == namespace)
            && self.max_tokens.is_none_or(|most| meta.estimated_tokens <= most)
    }

    /// What the caller should know about the answer: words that were read as others, and why there is nothing.
    fn note(&self, ranking: &Ranking, found: usize) -> Option<String> {
        let mut notes: Vec<String> = Vec::new();
        notes.extend(ranking.corrected.iter().map(|(written, read)| format!("\"{written}\" was read as \"{read}\"")));
        if found == 0 {
            notes.push(match ranking.tools.len() {
                0 => {
                    "no tool has these words: say in other words what the tool should do, or list all tools".to_owned()
                }
                most => format!("{most} tools fit the query, but not the namespace or max_tokens"),
            });
        } else if !ranking.unknown.is_empty() {
            notes.push(format!("words of no tool: {}", ranking.unknown.join(", ")));
        }
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}

impl Found {
    fn of(cx: &Context, entry: &Entry) -> Self {
        let Access { enabled, reason, call_with } = Access::of(cx, entry);
        let meta = entry.meta();
        Self {
            name: meta.name.to_owned(),
            title: meta.title.to_owned(),
            summary: meta.description.lines().next().unwrap_or_default().to_owned(),
            tier: TierName(meta.tier),
            required_role: RoleName(meta.role),
            enabled,
            reason,
            call_with: call_with.map(str::to_owned),
            estimated_tokens: meta.estimated_tokens,
        }
    }
}
