//! `raspi-mcp tools`

mod policy;

pub use policy::table;

use super::say::outln;
use super::{
    exit::{Exit, Failure},
    sources,
};
use crate::registry::{Registry, listing::descriptor};
use serde_json::Value;

#[derive(clap::Args)]
pub struct Args {
    /// Show the actions, role, tier, policy and time limit of every tool, as the running server has them; if none runs, as configured
    #[arg(long)]
    policy: bool,
    /// Print the full descriptors as JSON
    #[arg(long)]
    json: bool,
    /// List the tools of this namespace only, e.g. gpio
    #[arg(long, value_name = "NAME", conflicts_with = "policy")]
    namespace: Option<String>,
}

pub fn run(args: &Args, sources: &sources::Args) -> Result<(), Failure> {
    let registry = Registry::new(crate::tools::NAMESPACES);
    if args.policy {
        return policy::run(&registry, sources);
    }
    let settings = sources.settings(&registry, Vec::new())?;
    #[cfg(feature = "routeros")]
    if !settings.routeros.is_empty() {
        registry.set_namespace(crate::routeros::table::NAMESPACE, crate::tools::routeros::entries()?)?;
    }
    let entries = || {
        let wanted = args.namespace.as_deref();
        registry.entries().filter(move |entry| wanted.is_none_or(|name| entry.meta().namespace() == name))
    };
    if entries().next().is_none() {
        return Err(no_namespace(&registry, args.namespace.as_deref().unwrap_or_default()));
    }
    if args.json {
        let all: Vec<Value> = entries().map(|entry| descriptor(&entry)).collect();
        outln!("{:#}", Value::Array(all));
    } else {
        for entry in entries() {
            let first = entry.meta().description.lines().next().unwrap_or_default();
            outln!("{:<32} {first}", entry.name());
        }
    }
    Ok(())
}

fn no_namespace(registry: &Registry, name: &str) -> Failure {
    let mut names: Vec<String> = registry.entries().map(|entry| entry.meta().namespace().to_owned()).collect();
    // A namespace's tools stand together.
    names.dedup();
    Failure::new(Exit::Usage, format!("there is no namespace {name} here\n  there are {}", names.join(", ")))
}
