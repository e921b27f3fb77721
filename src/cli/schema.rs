//! `raspi-mcp schema`: the contract, as files.

use super::exit::{Exit, Failure};
use super::say::out;
use crate::registry::{
    Registry,
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
    /// Write DIR/<namespace>/<operation>.json for every tool
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

pub fn run(args: &Args) -> Result<(), Failure> {
    let registry = Registry::new(crate::tools::NAMESPACES);
    let rows: Vec<&'static ToolRow> = match &args.tool {
        None => registry.rows().collect(),
        Some(name) => {
            let (entry, _) = registry.resolve(name).map_err(|unknown| no_tool(name, &unknown))?;
            entry.row().into_iter().collect()
        }
    };
    if let Some(folder) = &args.write {
        for row in rows {
            let path = folder.join(file(row));
            let failed = |error| Failure::new(Exit::Failed, format!("{}: {error}", path.display()));
            path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
            fs::write(&path, text(row)).map_err(failed)?;
        }
        return Ok(());
    }
    if let Some(folder) = &args.check {
        let stale =
            |row: &&'static ToolRow| fs::read_to_string(folder.join(file(row))).ok().as_deref() != Some(&text(row));
        let stale: Vec<String> =
            rows.into_iter().filter(stale).map(|row| format!("{}.{}", row.meta.namespace(), row.file_stem())).collect();
        if stale.is_empty() {
            return Ok(());
        }
        return Err(Failure::new(Exit::Failed, format!("not what this build promises: {}", stale.join(", "))));
    }
    for row in rows {
        out!("{}", text(row));
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
