//! `vector.rebuild`: indexes all files anew (docs/contract/vector.md).

use crate::registry::{context::Context, tool::Tool};
use base::error::ToolError;
use contract::meta::{Effect, Listing, Meta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// The roots that are indexed anew; vector.get_status tells when it is done.
    namespaces: Vec<String>,
}

pub struct Rebuild;

impl Tool for Rebuild {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "vector.rebuild",
        title: "Rebuild the search index",
        description: "Forget what is indexed of files, and index them anew.\n\nUse when: vector.search finds what is not there, or does not find what is.\n\nReturns: the roots; the work goes on in the background.",
        listing: Listing::Extra,
        effect: Effect::Write { destructive: false, idempotent: true },
        estimated_tokens: 60,
        tags: &["search", "files"],
        ..Meta::WRITE
    };

    async fn call(cx: &Context, _: Args) -> Result<Out, ToolError> {
        let indexing = &cx.services.indexing;
        let namespaces: Vec<String> = indexing.roots().map(str::to_owned).collect();
        if namespaces.is_empty() {
            return Err(ToolError::precondition("no root of files is indexed")
                .hint("the owner sets index = true at a root of files.roots")
                .with("reason", "NO_INDEX"));
        }
        indexing.rebuild();
        cx.notes.changed();
        Ok(Out { namespaces })
    }
}
