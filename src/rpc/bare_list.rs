//! The bare method `tools.list`: every tool, also those that MCP's `tools/list` leaves out, in a form of its own
//! (docs/contract/tools.md).

use super::{
    envelope::{INVALID_PARAMS, Id, RpcError},
    listing::cut,
};
use crate::{
    registry::{entry::Entry, listing::ListingFilter, pipeline::Pipeline},
    services::Services,
};
use contract::{
    access::caller::{Caller, Transport},
    meta::{Declaration, Role},
};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use std::sync::Arc;

/// Tools of a page without a limit.
const PAGE: usize = 50;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    #[serde(default)]
    filter: ListingFilter,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default, rename = "_meta")]
    _meta: Option<Value>,
}

/// A page of tools, by name.
///
/// # Errors
/// -32602 for a wrong type, an unknown field, a limit outside 1-200, or a cursor that is none.
pub fn page(id: &Id, pipeline: &Pipeline, caller: &Caller, params: Option<&RawValue>) -> Result<Value, RpcError> {
    let bad = |why: String| RpcError::new(Some(id.clone()), INVALID_PARAMS, format!("Invalid params: {why}"));
    let params = params.map_or(Ok(Params::default()), |raw| {
        serde_json::from_str::<Params>(raw.get()).map_err(|error| bad(error.to_string()))
    })?;
    let limit = params.limit.unwrap_or(PAGE);
    if !(1..=200).contains(&limit) {
        return Err(bad(format!("limit {limit} is outside 1..=200")));
    }
    let tools = fitting(pipeline, caller, &params.filter);
    let (range, next_cursor) = cut(tools.len(), params.cursor.as_deref(), limit)
        .ok_or_else(|| bad("unknown cursor; start again without one".into()))?;
    let tools: Vec<Value> = tools[range]
        .iter()
        .map(|(entry, enabled)| {
            let schemas = (entry.advertised().0, entry.output_schema());
            shown(&entry.meta(), schemas, *enabled, caller, &pipeline.services)
        })
        .collect();
    Ok(json!({ "tools": tools, "next_cursor": next_cursor }))
}

/// The tools that fit `filter`, by name, each with whether the caller can call it now.
pub fn fitting(pipeline: &Pipeline, caller: &Caller, filter: &ListingFilter) -> Vec<(Arc<Entry>, bool)> {
    let wanted = wanted(pipeline, filter);
    let policy = pipeline.services.policy.held();
    let mut tools = Vec::new();
    for entry in pipeline.registry.entries() {
        let meta = entry.meta();
        let enabled = policy.admit(&meta, caller).is_ok() && entry.lacks(&pipeline.services, &policy, caller).is_none();
        let fits = wanted.as_ref().is_none_or(|names| names.iter().any(|name| name == meta.name))
            && filter.tags.as_ref().is_none_or(|tags| tags.iter().any(|tag| meta.tags.contains(&tag.as_str())))
            && filter.enabled.is_none_or(|only| only == enabled);
        if fits {
            tools.push((entry, enabled));
        }
    }
    base::sort::sort_by(&mut tools, |(one, _), (other, _)| one.name().cmp(other.name()));
    tools
}

/// The names that the filter means; `None` for all. An unknown one is of no tool.
fn wanted(pipeline: &Pipeline, filter: &ListingFilter) -> Option<Vec<String>> {
    let names = filter.names.as_ref()?;
    let known = |name: &String| pipeline.registry.resolve(name).ok().map(|(entry, _)| entry.name().to_owned());
    Some(names.iter().filter_map(known).collect())
}

fn shown(
    meta: &Declaration<'_>,
    (input, output): (Value, Value),
    enabled: bool,
    caller: &Caller,
    services: &Services,
) -> Value {
    let limits = &services.settings.limits;
    let per_minute = if meta.effect.is_write() { limits.writes_per_minute } else { limits.reads_per_minute };
    let transport = if matches!(caller.transport, Transport::Http | Transport::Ws) { "http" } else { "stdio" };
    json!({
        "name": meta.name.replacen('.', "/", 1),
        "title": meta.title,
        "description": meta.description,
        "version": format!("{}.0.0", meta.schema_version),
        "input_schema": input,
        "output_schema": output,
        "tags": meta.tags,
        "auth_required": meta.role > Role::ReadOnly,
        "rate_limit": { "per_minute": per_minute },
        "server": { "id": "raspi-mcp", "transport": transport, "endpoint": null },
        "enabled": enabled,
    })
}
