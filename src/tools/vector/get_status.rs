//! `vector.get_status`: what is indexed (docs/contract/vector.md).

use super::{TURNS, descriptions, may_read_files};
use crate::{
    indexing::{MANUAL, TOOLS},
    registry::{context::Context, tool::Tool},
};
use base::{error::ToolError, os::blocking};
use contract::meta::{Listing, Meta};
use schemars::JsonSchema;
use search::{MAX_BYTES, MAX_CHUNKS};
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// What you may search.
    namespaces: Vec<Namespace>,
    files: Files,
    /// Size of the index.
    size_bytes: i64,
    max_bytes: i64,
    max_chunks: i64,
    /// Always null: the index is lexical.
    embedding_model: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Namespace {
    name: String,
    documents: i64,
    /// Passages that are ranked.
    chunks: i64,
}

/// How far the index of files is.
#[derive(Serialize, JsonSchema)]
struct Files {
    state: State,
    /// Files of the last whole scan that are too large or no text.
    skipped: u64,
    /// Files that the index has no room for.
    left_out: u64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum State {
    /// No root has index = true.
    NoIndex,
    /// It is being brought up to date.
    Indexing,
    Ready,
    /// The first scan has not ended well yet.
    Incomplete,
}

pub struct GetStatus;

impl Tool for GetStatus {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "vector.get_status",
        title: "Show the search index",
        description: "What vector.search can find, and whether its index is up to date.\n\nUse when: a search does not find what should be there.\n\nReturns: documents and passages of each namespace, and the state of the files.",
        listing: Listing::Extra,
        estimated_tokens: 200,
        tags: &["search", "files"],
        ..Meta::READ
    };

    async fn call(cx: &Context, _: Args) -> Result<Out, ToolError> {
        let _turn = TURNS.take(Self::META.name).await?;
        let (indexing, tools) = (cx.services.indexing.clone(), descriptions(cx));
        let files = may_read_files(cx, Self::META.name);
        let (progress, any) = (indexing.progress(), indexing.roots().next().is_some());
        let (counts, size_bytes) =
            blocking::run("vector.get_status", move |stop| indexing.counts(&tools, stop)).await?;
        let visible = |name: &str| files || [MANUAL, TOOLS].contains(&name);
        let state = match (any && files, progress.scanning, progress.scanned) {
            (false, ..) => State::NoIndex,
            (_, true, _) => State::Indexing,
            (_, _, true) => State::Ready,
            _ => State::Incomplete,
        };
        let of_files = |count: u64| if files { count } else { 0 };
        Ok(Out {
            namespaces: counts
                .into_iter()
                .filter(|count| visible(&count.name))
                .map(|count| Namespace { name: count.name, documents: count.documents, chunks: count.chunks })
                .collect(),
            files: Files { state, skipped: of_files(progress.skipped), left_out: of_files(progress.left_out) },
            size_bytes,
            max_bytes: MAX_BYTES,
            max_chunks: MAX_CHUNKS,
            embedding_model: None,
        })
    }
}
