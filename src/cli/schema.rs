//! `raspi-mcp schema`: the contract, as files.

use super::exit::{Exit, Failure};
use super::say::out;
use crate::registry::{Registry, listing::descriptor, names::Unknown, tool::Entry};
use std::{
    fs,
    path::{Path, PathBuf},
};

#[derive(clap::Args)]
pub struct Args {
    /// Only this tool
    tool: Option<String>,
    #[allow(rustdoc::invalid_html_tags, reason = "clap shows the text as it is")]
    /// Write DIR/<namespace>/<operation>.json for every tool
    #[arg(long, value_name = "DIR", conflicts_with = "check")]
    write: Option<PathBuf>,
    /// Report which files in DIR differ from this build's schemas
    #[arg(long, value_name = "DIR")]
    check: Option<PathBuf>,
}

/// The path of a tool's file below the schema folder.
pub fn file(entry: &Entry) -> PathBuf {
    let (namespace, operation) = entry.name().split_once('.').unwrap_or(("", entry.name()));
    Path::new(namespace).join(format!("{operation}.json"))
}

/// The contents of a tool's file.
pub fn text(entry: &Entry) -> String {
    format!("{:#}\n", descriptor(entry))
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let registry = Registry::new(crate::tools::NAMESPACES);
    let entries: Vec<&Entry> = match &args.tool {
        None => registry.entries().collect(),
        Some(name) => vec![registry.names.resolve(name).map_err(|unknown| no_tool(name, &unknown))?.0],
    };
    if let Some(folder) = &args.write {
        for entry in entries {
            let path = folder.join(file(entry));
            let failed = |error| Failure::new(Exit::Failed, format!("{}: {error}", path.display()));
            path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
            fs::write(&path, text(entry)).map_err(failed)?;
        }
        return Ok(());
    }
    if let Some(folder) = &args.check {
        let stale = |entry: &&Entry| fs::read_to_string(folder.join(file(entry))).ok().as_deref() != Some(&text(entry));
        let stale: Vec<&str> = entries.into_iter().filter(stale).map(Entry::name).collect();
        if stale.is_empty() {
            return Ok(());
        }
        return Err(Failure::new(Exit::Failed, format!("not what this build promises: {}", stale.join(", "))));
    }
    for entry in entries {
        out!("{}", text(entry));
    }
    Ok(())
}

fn no_tool(name: &str, unknown: &Unknown) -> Failure {
    let why = match unknown {
        Unknown::Name { nearest: Some(nearest) } => format!("there is no tool {name}; did you mean {nearest}?"),
        Unknown::Name { nearest: None } => format!("there is no tool {name}; `raspi-mcp tools` lists them"),
        Unknown::Version { tool, has } => format!("this build has {tool}@{has}"),
    };
    Failure::new(Exit::Usage, why)
}
