//! `vector.search`: passages that answer a question (docs/contract/vector.md).

use super::{TURNS, descriptions, may_read_files};
use crate::{
    indexing::{ADDRESS, IndexQuestion, MANUAL, TOOLS, UNAVAILABLE, kind},
    registry::{context::Context, tool::Tool},
    tools::{files::bounded_or_null, within},
};
use base::{
    error::{ErrorCode, ToolError},
    os::blocking,
};
use contract::meta::{Listing, Meta};
use schemars::JsonSchema;
use search::Found;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

/// Characters of a question, at most.
const QUERY: usize = 1000;
/// Characters of a name or a path, at most.
const NAME: usize = 255;
/// Numbers of an embedding, at most.
const DIMENSIONS: usize = 4096;
/// Tags, at most.
const TAGS: usize = 16;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What you look for, in your own words.
    #[serde(default, deserialize_with = "bounded_or_null::<_, QUERY>")]
    #[schemars(length(max = QUERY))]
    query: Option<String>,
    /// A vector in place of a query; this index has none.
    #[serde(default, deserialize_with = "embedding")]
    #[schemars(length(max = DIMENSIONS))]
    embedding: Option<Vec<f64>>,
    /// The best so many.
    #[serde(default = "five", deserialize_with = "within::<_, 1, 50>")]
    #[schemars(range(min = 1, max = 50))]
    top_k: u32,
    /// "manual", "tools" or the name of an indexed root; null: all.
    #[serde(default, deserialize_with = "bounded_or_null::<_, NAME>")]
    #[schemars(length(max = NAME))]
    namespace: Option<String>,
    /// All that is given must hold.
    #[serde(default, deserialize_with = "Filter::of_an_object")]
    filter: Filter,
    /// Vectors of the matches; this index has none.
    #[serde(default)]
    #[expect(dead_code, reason = "part of the contract; an index of words has no vectors, whatever it says")]
    include_vectors: bool,
    /// Rank again by a model; this index has none.
    #[serde(default = "yes")]
    #[expect(dead_code, reason = "part of the contract; without a model nothing is ranked again, whatever it says")]
    rerank: bool,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Filter {
    /// Only paths that begin so, below their root.
    #[serde(default, deserialize_with = "bounded_or_null::<_, NAME>")]
    #[schemars(length(max = NAME))]
    path_prefix: Option<String>,
    /// Documents with all of these: "manual", "tool", "file", or a language like "markdown".
    #[serde(default, deserialize_with = "tags")]
    #[schemars(length(max = TAGS))]
    tags: Vec<String>,
}

impl Filter {
    /// Accepts objects only: serde would also accept a list of the fields in order.
    fn of_an_object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = serde_json::Map::deserialize(deserializer)?;
        Self::deserialize(serde_json::Value::Object(object)).map_err(D::Error::custom)
    }
}

fn embedding<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<f64>>, D::Error> {
    match Option::<Vec<f64>>::deserialize(deserializer)? {
        Some(numbers) if numbers.len() > DIMENSIONS => Err(D::Error::custom(format!("more than {DIMENSIONS} numbers"))),
        numbers => Ok(numbers),
    }
}

fn tags<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let tags = Vec::<String>::deserialize(deserializer)?;
    if tags.len() > TAGS { Err(D::Error::custom(format!("more than {TAGS} tags"))) } else { Ok(tags) }
}

fn five() -> u32 {
    5
}

fn yes() -> bool {
    true
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// Best first.
    matches: Vec<Match>,
    usage: Usage,
}

#[derive(Serialize, JsonSchema)]
struct Match {
    id: String,
    /// From 0 to 1; comparable within this answer only.
    score: f64,
    /// Always null: the index is lexical.
    vector: Option<Vec<f64>>,
    metadata: Metadata,
}

#[derive(Serialize, JsonSchema)]
struct Metadata {
    /// "root:path", which files.read takes; the address of a page of the manual; "tools:name".
    path: String,
    line_start: Option<u32>,
    line_end: Option<u32>,
    lang: Option<String>,
    commit: Option<String>,
    shard_id: Option<String>,
    /// As files.read gives it.
    etag: Option<String>,
    tags: Vec<String>,
    /// The lines line_start to line_end.
    snippet: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Usage {
    embedding_model: Option<String>,
    embed_time_ms: Option<u64>,
    rerank_model: Option<String>,
}

pub struct Search;

impl Tool for Search {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "vector.search",
        title: "Search files and the manual",
        description: "Find passages by words, in the manual and in indexed files.\n\nUse when: you do not know which file or page says something.\n\nReturns: passages with line numbers, best first.\n\nNote: words find words; spelling is corrected, meaning is not understood.",
        listing: Listing::Extra,
        estimated_tokens: 800,
        tags: &["search", "files", "manual"],
        ..Meta::READ
    };

    fn check(args: &Args) -> Result<(), ToolError> {
        if args.embedding.is_none() && args.query.as_ref().is_none_or(|query| query.trim().is_empty()) {
            return Err(ToolError::invalid("say in query what you look for")
                .with("path", "/query")
                .with("field", "query"));
        }
        Ok(())
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        if args.embedding.is_some() {
            return Err(ToolError::new(ErrorCode::Unavailable, "this index has no vectors: it finds words")
                .hint("leave embedding out, and say in query what you look for")
                .with("path", "/embedding")
                .numbered(UNAVAILABLE));
        }
        let indexing = cx.services.indexing.clone();
        let files = may_read_files(cx, Self::META.name);
        if let Some(name) = &args.namespace {
            let known = [MANUAL, TOOLS].into_iter().chain(indexing.roots().filter(|_| files));
            let known: Vec<&str> = known.collect();
            if !known.contains(&name.as_str()) {
                return Err(ToolError::not_found(format!("no index has the namespace {name:?}"))
                    .hint("the owner indexes a root of files.roots with index = true; vector.get_status lists what there is")
                    .with("path", "/namespace")
                    .with("reason", "NO_INDEX")
                    .with("namespaces", known));
            }
        }
        let _turn = TURNS.take(Self::META.name).await?;
        let tools = descriptions(cx);
        let question = IndexQuestion {
            text: args.query.unwrap_or_default(),
            namespace: args.namespace,
            path_prefix: args.filter.path_prefix,
            top_k: args.top_k,
            files,
            tags: args.filter.tags,
        };
        let found = blocking::run("vector.search", move |stop| indexing.find(&question, &tools, stop)).await?;
        let matches = found.into_iter().map(Match::of).collect();
        Ok(Out { matches, usage: Usage { embedding_model: None, embed_time_ms: None, rerank_model: None } })
    }
}

impl Match {
    fn of(found: Found) -> Self {
        let Found { namespace, path, etag, lang, score, snippet, weight: _ } = found;
        let path = match namespace.as_str() {
            MANUAL => format!("{ADDRESS}{path}"),
            _ => format!("{namespace}:{path}"),
        };
        Self {
            id: format!("{path}#{}", snippet.line_start),
            score,
            vector: None,
            metadata: Metadata {
                line_start: Some(snippet.line_start),
                line_end: Some(snippet.line_end),
                tags: std::iter::once(kind(&namespace).to_owned()).chain(lang.clone()).collect(),
                lang,
                commit: None,
                shard_id: None,
                etag: Some(etag),
                snippet: Some(snippet.text),
                path,
            },
        }
    }
}
