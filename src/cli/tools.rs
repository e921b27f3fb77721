//! `raspi-mcp tools`

use super::say::{out, outln};
use super::{
    exit::{Exit, Failure},
    sources,
};
use crate::registry::{Registry, listing::descriptor};
use contract::{
    access::policy::Policy,
    actions::{ACTIONS, DOES, Does, Ruling, Words},
    halt,
    meta::{Declaration, Mode},
};
use serde_json::Value;

#[derive(clap::Args)]
pub struct Args {
    /// Show the actions, role, tier, policy and time limit of every tool, as configured
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
    } else if args.policy {
        out!("{}", table(&registry, &Policy::of(&settings)));
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

/// The policy tables as Markdown: tools, then their actions. For the defaults this is committed as `docs/policy.md` and
/// tested.
pub fn table(registry: &Registry, policy: &Policy) -> String {
    let mut out = String::from(
        "| tool | tier | role | policy | seconds | on | while halted | does |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let words = policy.words();
    for entry in registry.entries() {
        let meta = &entry.meta();
        let row = [
            format!("`{}`", meta.name),
            word(serde_json::json!(meta.tier)),
            meta.role.name().to_owned(),
            kinds(meta, words),
            meta.timeout_seconds.to_string(),
            if policy.off(meta).is_none() { "yes" } else { "no" }.to_owned(),
            if halt::stops(meta) { "refused" } else { "runs" }.to_owned(),
            Does::of(meta.name).map_or_else(String::new, |does| named(&does.all())),
        ];
        out.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    out.push_str("\n| action | what it is | tools that do it |\n| --- | --- | --- |\n");
    for (action, what) in ACTIONS {
        let tools: Vec<&str> = DOES.iter().filter(|does| does.all().contains(action)).map(|does| does.tool).collect();
        out.push_str(&format!("| `{action}` | {what} | {} |\n", named(&tools)));
    }
    out
}

/// The mode of a tool and its source; if calls of some kinds have another mode, each of those.
fn kinds(meta: &Declaration<'_>, words: Words<'_>) -> String {
    let say = |ruling: &Ruling<'_>| match ruling.source() {
        None => mode(ruling.mode).to_owned(),
        Some(source) => format!("{} ({source})", mode(ruling.mode)),
    };
    let mildest = words.judge_mildest(meta.name, meta.mode);
    let mut text = say(&mildest);
    for actions in Does::of(meta.name).map_or_else(Vec::new, Does::kinds) {
        let ruling = words.judge_actions(meta.name, &actions, meta.mode);
        if ruling.mode != mildest.mode {
            text.push_str(&format!("; {}: {}", named(&actions), say(&ruling)));
        }
    }
    text
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Allow => "allow",
        Mode::Ask => "ask",
        Mode::Deny => "deny",
    }
}

fn named(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
