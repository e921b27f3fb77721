//! `manage.export_settings`: the settings that differ from the defaults, without secrets (docs/contract/manage.md).

use super::sees_commands;
use crate::{
    registry::{context::Context, tool::Tool},
    tools::none::NoArgs,
};
use base::error::ToolError;
use contract::{
    config::exported,
    meta::{Listing, Meta},
};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// A fragment of the configuration, for a file below `/etc/raspi-mcp` of another machine.
    toml: String,
    /// Settings that are in force and not in it: a part of them is secret, or for admins only.
    left_out: Vec<&'static str>,
}

pub struct ExportSettings;

impl Tool for ExportSettings {
    type Args = NoArgs;
    type Out = Out;
    const META: Meta = Meta {
        name: "manage.export_settings",
        title: "Export settings",
        description: "The settings that differ from the defaults, as a configuration file without secrets.\n\nUse when: another machine is to be set up like this one, or two are compared. A backup with keys and passwords is made with `raspi-mcp backup`.\n\nReturns: the file as TOML, and the settings left out because they are secret.",
        listing: Listing::Extra,
        estimated_tokens: 400,
        tags: &["server", "configuration", "backup"],
        ..Meta::READ
    };

    async fn call(cx: &Context, _: NoArgs) -> Result<Out, ToolError> {
        let exported = exported(&cx.services.settings, sees_commands(&cx.caller));
        Ok(Out { toml: exported.toml, left_out: exported.left_out })
    }
}
