//! `tools.describe`: everything about a few tools, for clients whose list leaves some of it out.

use super::access::Access;
use crate::registry::{
    compat::{self, Alias},
    context::Context,
    entry::Entry,
    listing::{CallLimits, at_run_time},
    tool::Tool,
};
use base::error::ToolError;
use contract::meta::Meta;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Tools in one call: ten of the longest descriptors are 100 kB.
const MOST: usize = 10;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Like "gpio.write_pin".
    #[schemars(length(min = 1, max = MOST))]
    #[serde(deserialize_with = "names")]
    names: Vec<String>,
}

fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    if !(1..=MOST).contains(&names.len()) {
        return Err(D::Error::custom(format!("{} names where 1 to {MOST} are allowed", names.len())));
    }
    Ok(names)
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// In the order of their names in the call.
    tools: Vec<Described>,
}

#[derive(Serialize, JsonSchema)]
struct Described {
    name: String,
    /// Whether this caller can call it now.
    enabled: bool,
    /// Why not, and what would change that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    reason: Option<String>,
    /// The tool that calls it, where it is not in tools/list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    call_with: Option<&'static str>,
    /// As tools/list has it, with the whole outputSchema. `accepts` has the schemas of properties that take more than
    /// inputSchema shows.
    descriptor: Map<String, Value>,
}

pub struct Describe;

impl Tool for Describe {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "tools.describe",
        title: "Describe tools",
        description: "Show tools in full.\n\nUse when: tools.search found one, or you need an answer's fields.\n\nReturns: schemas, limits, whether you may call it.",
        estimated_tokens: 1500,
        tags: &["discovery"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let tools = args
            .names
            .iter()
            .map(|name| Described::of(cx, &*find(cx, name)?, compat::find(name)))
            .collect::<Result<_, _>>()?;
        Ok(Out { tools })
    }
}

/// The tool by any spelling of its name.
fn find(cx: &Context, name: &str) -> Result<Arc<Entry>, ToolError> {
    let found = cx.registry.resolve(name);
    found.map(|(entry, _)| entry).map_err(|unknown| {
        ToolError::not_found(format!("there is no tool {}", unknown.explain(name))).with("parameter", "names")
    })
}

impl Described {
    fn of(cx: &Context, entry: &Entry, alias: Option<&Alias>) -> Result<Self, ToolError> {
        let policy = cx.services.policy.held();
        let Access { enabled, reason, call_with } = Access::of(cx, entry);
        let principal = &cx.caller.principal;
        let listed = policy.off_for(&entry.meta(), Some(principal)).is_none()
            && entry.lacks(&cx.services, &policy, &cx.caller).is_none();
        let mut descriptor = at_run_time(&policy, CallLimits::of(&cx.services.settings.limits), entry, listed);
        if let (Some(more), Some(meta)) = (entry.more_meta(), descriptor["_meta"].as_object_mut()) {
            meta.extend(more.clone());
        }
        if let Some(alias) = alias {
            alias.dress(&mut descriptor);
        }
        match descriptor {
            Value::Object(descriptor) => {
                Ok(Self { name: entry.name().to_owned(), enabled, reason, call_with, descriptor })
            }
            other => Err(ToolError::internal(format!("the descriptor of {} is no object: {other}", entry.name()))),
        }
    }
}
