//! `tools.run`: calls a tool that is not listed, by its name.
//!
//! The call that it carries runs in its place ([`crate::registry::pipeline::Pipeline::unwrap`]): role, policy, questions, limits
//! and audit are those of the tool that is named. The handler here is reached only where that is not possible.

use super::arguments::Arguments;
use crate::registry::{
    context::Context,
    tool::{Carried, Tool},
};
use base::error::ToolError;
use contract::meta::{Effect, Meta};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Like "gpio.write_pin".
    #[schemars(length(min = 1, max = 128))]
    #[serde(deserialize_with = "crate::tools::bounded::<_, 1, 128>")]
    name: String,
    /// Its arguments as a JSON object, like {"pin": 17}. tools.describe shows them.
    #[serde(default)]
    #[schemars(default = "none")]
    arguments: Arguments,
}

/// What is advertised for absent arguments.
fn none() -> &'static str {
    "{}"
}

pub struct Run;

impl Tool for Run {
    type Args = Args;
    type Out = Map<String, Value>;
    const META: Meta = Meta {
        name: "tools.run",
        title: "Run an unlisted tool",
        description: "Call any tool by name.\n\nUse when: tools.search found a tool that changes something and is not in your list.\n\nReturns: that tool's answer.\n\nNote: its role, policy and approval hold.",
        effect: Effect::Write { destructive: true, idempotent: false },
        open_world: true,
        tags: &["discovery"],
        ..Meta::READ
    };
    const CARRIES: bool = true;

    fn shown(args: &Value) -> Option<Value> {
        shown(args)
    }

    fn carried(args: &Value) -> Option<Carried> {
        carried(args, false)
    }

    async fn call(cx: &Context, args: Args) -> Result<Self::Out, ToolError> {
        Err(args.why_not(cx, true))
    }
}

/// The call in the arguments of `tools.run` or `tools.run_read`; `None` if they do not fit the schema.
pub(super) fn carried(args: &Value, reads_only: bool) -> Option<Carried> {
    let map = args.as_object()?;
    let tool = map.get("name")?.as_str()?.to_owned();
    let arguments = match map.get("arguments") {
        None | Some(Value::Null) => Arguments::default(),
        Some(arguments) => serde_json::from_value(arguments.clone()).ok()?,
    };
    let is_known = |name: &String| name == "name" || name == "arguments";
    let args = Value::Object(arguments.object().ok()?);
    map.keys().all(is_known).then_some(Carried { tool, args, reads_only })
}

/// The arguments as the audit has them. Secrets are found by the names of fields, so a text is shown as the object that it
/// is, or not at all.
pub(super) fn shown(args: &Value) -> Option<Value> {
    let text = args.get("arguments")?.as_str()?;
    let mut shown = args.clone();
    shown["arguments"] = match serde_json::from_str::<Value>(text) {
        Ok(parsed @ Value::Object(_)) => parsed,
        _ => Value::String(format!("({} bytes that are no JSON object)", text.len())),
    };
    Some(shown)
}

impl Args {
    /// Why the tool that they name did not run.
    pub(super) fn why_not(&self, cx: &Context, may_write: bool) -> ToolError {
        if let Err(why) = self.arguments.object() {
            return ToolError::invalid(format!("arguments is no JSON object: {why}")).with("path", "/arguments");
        }
        let error = match cx.registry.resolve(&self.name) {
            Err(unknown) => ToolError::not_found(format!("there is no tool {}", unknown.explain(&self.name))),
            Ok((entry, _)) if entry.carries() => {
                ToolError::invalid(format!("{} is not run by another tool", entry.name())).hint("name the tool itself")
            }
            Ok((entry, _)) if entry.meta().effect.is_write() && !may_write => {
                let name = entry.name();
                ToolError::invalid(format!("{name} changes something, and tools.run_read runs only tools that read"))
                    .hint(format!("call {name} itself if it is in your list, and otherwise through tools.run"))
            }
            Ok((entry, _)) => {
                ToolError::unavailable(format!("{} was switched off or on meanwhile", entry.name())).hint("call again")
            }
        };
        error.with("path", "/name")
    }
}
