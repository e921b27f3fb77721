//! `raspi-mcp tools`

use super::say::{out, outln};
use super::{exit::Failure, sources};
use crate::{
    access::policy::Policy,
    registry::{Registry, listing::descriptor},
};
use serde_json::Value;

#[derive(clap::Args)]
pub struct Args {
    /// Show role, tier, policy and time limit of every tool, as the configuration has them
    #[arg(long)]
    policy: bool,
    /// For programs: the full descriptors
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, sources: &sources::Args) -> Result<(), Failure> {
    let registry = Registry::standard();
    let settings = sources.settings(&registry, Vec::new())?;
    if args.json {
        let all: Vec<Value> = registry.entries().map(descriptor).collect();
        outln!("{:#}", Value::Array(all));
    } else if args.policy {
        out!("{}", table(&registry, &Policy::of(&settings)));
    } else {
        for entry in registry.entries() {
            let first = entry.meta.description.lines().next().unwrap_or_default();
            outln!("{:<32} {first}", entry.name());
        }
    }
    Ok(())
}

/// The policy table, as Markdown: committed as `docs/policy.md` for the defaults, and tested.
pub fn table(registry: &Registry, policy: &Policy) -> String {
    let mut out =
        String::from("| tool | tier | role | policy | seconds | on |\n| --- | --- | --- | --- | --- | --- |\n");
    for entry in registry.entries() {
        let meta = entry.meta;
        let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
        let row = [
            format!("`{}`", meta.name),
            word(serde_json::json!(meta.tier)),
            meta.role.name().to_owned(),
            word(serde_json::json!(policy.mode(meta))),
            meta.timeout_seconds.to_string(),
            if policy.off(meta).is_none() { "yes" } else { "no" }.to_owned(),
        ];
        out.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    out
}
