//! `raspi-mcp schema`: the contract, as files.

use super::exit::{Exit, Failure};
use super::say::out;
use crate::registry::{
    Registry,
    compat::{self, Alias},
    entry::Entry,
    listing::descriptor,
    names::{ToolNameError, versions},
    row::ToolRow,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

#[derive(clap::Args)]
pub struct Args {
    /// Only this tool
    tool: Option<String>,
    #[allow(rustdoc::invalid_html_tags, reason = "clap shows the text as it is")]
    /// Write DIR/<namespace>/<operation>.json for every tool, and DIR/compat/<server>/<name>.json for names of other servers
    #[arg(long, value_name = "DIR", conflicts_with = "check")]
    write: Option<PathBuf>,
    /// Report which files in DIR differ from this build's schemas
    #[arg(long, value_name = "DIR")]
    check: Option<PathBuf>,
}

/// The path of a tool's file below the schema folder.
pub fn file(row: &ToolRow) -> PathBuf {
    Path::new(row.meta.namespace()).join(row.file_stem() + ".json")
}

/// The contents of a tool's file.
pub fn text(row: &'static ToolRow) -> String {
    format!("{:#}\n", descriptor(&Entry::from(row)))
}

/// The path and the contents of the files of all names of other servers that `registry` has the tools of.
pub fn others(registry: &Registry) -> Vec<(PathBuf, String)> {
    let made = |alias: &Alias| {
        let (entry, _) = registry.resolve(alias.name).ok()?;
        let path = Path::new("compat/dbus-mcp").join(format!("{}.json", alias.name));
        Some((path, format!("{:#}\n", compat::descriptor(alias, &entry))))
    };
    compat::all().iter().filter_map(made).collect()
}

/// The same of the tools for routers, which a server has where routers are configured.
pub fn routeros() -> Vec<(PathBuf, String)> {
    #[cfg(not(feature = "routeros"))]
    let entries: Vec<Entry> = Vec::new();
    #[cfg(feature = "routeros")]
    let entries = crate::tools::routeros::entries().unwrap_or_default();
    let made = |entry: &Entry| {
        let (namespace, operation) = entry.name().split_once('.').unwrap_or_default();
        (Path::new(namespace).join(format!("{operation}.json")), format!("{:#}\n", descriptor(entry)))
    };
    entries.iter().map(made).collect()
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let registry = Registry::new(crate::tools::NAMESPACES);
    let mut files: Vec<(PathBuf, String)> = others(&registry);
    let of = |row: &'static ToolRow| (file(row), text(row));
    match &args.tool {
        None => files.splice(..0, registry.rows().map(of).chain(routeros())).for_each(drop),
        Some(name) if crate::tools::for_routers().any(|meta| meta.name == name.replacen(['_', '/'], ".", 1)) => {
            let path = Path::new(&name.replacen(['_', '.'], "/", 1)).with_extension("json");
            files = routeros().into_iter().filter(|(of, _)| *of == path).collect();
        }
        Some(name) => {
            let (entry, _) = registry.resolve(name).map_err(|unknown| no_tool(name, &unknown))?;
            files.retain(|(path, _)| path.file_stem().is_some_and(|stem| stem == name.as_str()));
            if files.is_empty() {
                files.extend(entry.row().map(of));
            }
        }
    }
    if let Some(folder) = &args.write {
        for (path, text) in files {
            let path = folder.join(path);
            let failed = |error| Failure::new(Exit::Failed, format!("{}: {error}", path.display()));
            path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
            fs::write(&path, text).map_err(failed)?;
        }
        return Ok(());
    }
    if let Some(folder) = &args.check {
        let is_stale =
            |(path, text): &(PathBuf, String)| fs::read_to_string(folder.join(path)).ok().as_deref() != Some(text);
        let stale: Vec<String> =
            files.into_iter().filter(is_stale).map(|(path, _)| path.display().to_string()).collect();
        if stale.is_empty() {
            return Ok(());
        }
        return Err(Failure::new(Exit::Failed, format!("not what this build promises: {}", stale.join(", "))));
    }
    for (_, text) in files {
        out!("{text}");
    }
    Ok(())
}

fn no_tool(name: &str, unknown: &ToolNameError) -> Failure {
    let why = match unknown {
        ToolNameError::Name { nearest: Some(nearest) } => format!("there is no tool {name}; did you mean {nearest}?"),
        ToolNameError::Name { nearest: None } => format!("there is no tool {name}; `raspi-mcp tools` lists them"),
        ToolNameError::Version { tool, has } => format!("this build has {}", versions(tool, has)),
    };
    Failure::new(Exit::Usage, why)
}
