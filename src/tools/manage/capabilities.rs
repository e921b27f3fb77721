//! `manage.get_capabilities`: versions of the contract (docs/contract/manage.md).

use crate::{
    registry::{context::Context, listing::TOOLING_VERSION, tool::Tool},
    tools::none::NoArgs,
};
use base::error::ToolError;
use contract::meta::{Listing, Meta};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize, JsonSchema)]
pub struct Out {
    server_version: &'static str,
    /// Of the contract as a whole; a tool's own version is its `schemaVersion`.
    api_version: &'static str,
    tool_namespaces: BTreeMap<String, Versions>,
    /// What this server can do beside its tools.
    capabilities: BTreeMap<&'static str, bool>,
}

/// The versions of a namespace's tools that can be asked for as `name@version`.
#[derive(Serialize, JsonSchema)]
struct Versions {
    versions: Vec<String>,
    default: String,
}

pub struct GetCapabilities;

impl Tool for GetCapabilities {
    type Args = NoArgs;
    type Out = Out;
    const META: Meta = Meta {
        name: "manage.get_capabilities",
        title: "Server capabilities",
        description: "Contract versions, and what the server can do beside its tools.\n\nUse when: you rely on a version or feature.\n\nReturns: versions of server, API and namespaces; feature flags.",
        listing: Listing::Extra,
        estimated_tokens: 200,
        cache_seconds: Some(60),
        tags: &["server", "discovery"],
        ..Meta::READ
    };

    async fn call(cx: &Context, _: NoArgs) -> Result<Out, ToolError> {
        let settings = &cx.services.settings;
        let mut by_namespace: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for entry in cx.registry.tools().all() {
            by_namespace.entry(entry.meta().namespace().to_owned()).or_default().push(entry.meta().schema_version);
        }
        let tool_namespaces = base::sort::map(by_namespace.into_iter().map(|(namespace, mut versions)| {
            base::sort::sort(&mut versions);
            versions.dedup();
            let default = versions.last().copied().unwrap_or(1).to_string();
            (namespace, Versions { versions: versions.iter().map(u32::to_string).collect(), default })
        }));
        let capabilities = base::sort::map([
            ("approval.elicitation", !settings.approval.elicitation_clients.is_empty()),
            ("approval.out_of_band", true),
            ("audit.verifiable", true),
            ("transport.http", settings.http.enabled),
            ("transport.unix_socket", settings.socket.enabled),
        ]);
        Ok(Out { server_version: TOOLING_VERSION, api_version: "1.0", tool_namespaces, capabilities })
    }
}
