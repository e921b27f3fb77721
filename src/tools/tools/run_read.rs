//! `tools.run_read`: calls a tool that is not listed and only reads, by its name. See [`super::run`].

use super::run::{self, Args};
use crate::registry::{
    context::Context,
    tool::{ReadCarried, Tool},
};
use base::error::ToolError;
use contract::meta::Meta;
use serde_json::{Map, Value};

pub struct RunRead;

impl Tool for RunRead {
    type Args = Args;
    type Out = Map<String, Value>;
    const META: Meta = Meta {
        name: "tools.run_read",
        title: "Run an unlisted read",
        description: "Call a tool that only reads, by name.\n\nUse when: tools.search found one that is not in your list.\n\nReturns: that tool's answer.",
        open_world: true,
        tags: &["discovery"],
        ..Meta::READ
    };
    const CARRIED: Option<ReadCarried> = Some(run::carried);

    fn shown(args: &Value) -> Option<Value> {
        run::shown(args)
    }

    async fn call(cx: &Context, args: Args) -> Result<Self::Out, ToolError> {
        Err(args.why_not(cx, Self::META.effect))
    }
}
