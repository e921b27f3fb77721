//! `tools.run`: calls a tool that is not listed, by its name.
//!
//! The call that it carries runs in its place ([`crate::registry::pipeline::Pipeline::unwrap`]): role, policy, questions, limits
//! and audit are those of the tool that is named. The handler here is reached only where that is not possible.

use super::arguments::Arguments;
use crate::registry::{
    context::Context,
    tool::{Carried, ReadCarried, Tool},
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
    const CARRIED: Option<ReadCarried> = Some(carried);

    fn shown(args: &Value) -> Option<Value> {
        shown(args)
    }

    async fn call(cx: &Context, args: Args) -> Result<Self::Out, ToolError> {
        Err(args.why_not(cx, Self::META.effect))
    }
}

/// The call in the arguments of `tools.run` or `tools.run_read`.
pub(super) fn carried(args: &Value) -> Option<Carried> {
    let Args { name, arguments } = Args::deserialize(args).ok()?;
    Some(Carried { tool: name, args: arguments.object().ok()?.into() })
}

/// The arguments as the audit has them. Secrets are found by the names of fields, so a text is shown as the object that it
/// is, or not at all.
pub(crate) fn shown(args: &Value) -> Option<Value> {
    let text = args.get("arguments")?.as_str()?;
    let mut shown = args.clone();
    shown["arguments"] = match Arguments::Text(text.to_owned()).object() {
        Ok(object) => object.into(),
        Err(_) => format!("({} bytes that are no JSON object)", text.len()).into(),
    };
    Some(shown)
}

impl Args {
    /// Why the tool that they name did not run.
    pub(super) fn why_not(self, cx: &Context, effect: Effect) -> ToolError {
        if let Err(why) = self.arguments.object() {
            return ToolError::invalid(format!("arguments is no JSON object: {why}")).with("path", "/arguments");
        }
        let error = match cx.registry.resolve(&self.name) {
            Err(unknown) => ToolError::not_found(format!("there is no tool {}", unknown.explain(&self.name))),
            Ok((entry, _)) if entry.carries() => {
                ToolError::invalid(format!("{} is not run by another tool", entry.name())).hint("name the tool itself")
            }
            Ok((entry, _)) if entry.meta().effect.is_write() && !effect.is_write() => {
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
