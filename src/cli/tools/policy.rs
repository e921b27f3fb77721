//! `raspi-mcp tools --policy`: of the server that runs, otherwise of the configuration.

use crate::cli::say::{out, outln};
use crate::cli::{exit::Failure, running::Running, sources};
use crate::{registry::Registry, terminal::printable};
use contract::{
    access::policy::Policy,
    actions::{ACTIONS, DOES, Does, Ruling, SHOWS, Words},
    halt,
    meta::{Declaration, Mode},
};
use serde_json::Value;

pub(super) fn run(registry: &Registry, sources: &sources::Args) -> Result<(), Failure> {
    let settings = sources.settings(registry, Vec::new())?;
    let socket = sources::reach(&settings.socket.path, |places| places.runtime_dir.join("mcp.sock"));
    let running = crate::cli::runtime()?.block_on(Running::ask(&socket));
    #[cfg(feature = "routeros")]
    if running.as_ref().map_or(!settings.routeros.is_empty(), Running::has_routers) {
        registry.set_namespace(crate::routeros::table::NAMESPACE, crate::tools::routeros::entries()?)?;
    }
    let why = match running.as_ref().map(Running::policy) {
        Ok(Some(policy)) => {
            outln!("The policy of the server on {}:\n", socket.display());
            out!("{}", table(registry, &policy));
            return Ok(());
        }
        Ok(None) => format!("the server on {} does not report its own", socket.display()),
        Err(error) => printable(&error.message),
    };
    outln!("The policy of the configuration; {why}:\n");
    out!("{}", table(registry, &Policy::of(&settings)));
    Ok(())
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
    out.push_str("\n| answer | leaves out what these read, where policy denies or asks about them |\n| --- | --- |\n");
    for (reader, actions) in SHOWS {
        out.push_str(&format!("| `{reader}` | {} |\n", named(actions)));
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
