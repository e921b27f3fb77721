//! `raspi-mcp fleet ls`: names for scripts.

use super::{connected, selection::Selection};
use crate::{
    cli::{exit::Failure, runtime, say::outln},
    fleet::console::FleetFolder,
};
use serde_json::Value;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// The folder of the fleet
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    #[command(flatten)]
    selection: Selection,
    /// Print a JSON array of names
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let filter = args.selection.filter();
    let names: Vec<String> = if filter.is_about_registry() {
        let folder = FleetFolder::read(&args.dir)?;
        let named = |name: &String| filter.names.is_empty() || filter.names.contains(name);
        folder.active().map(|device| device.name.clone()).filter(named).collect()
    } else {
        let book = runtime()?.block_on(async { Ok::<_, Failure>(connected(&args.dir).await?.statuses().await?.0) })?;
        args.selection.rows(&book).iter().map(|row| row.device.name.clone()).collect()
    };
    if args.json {
        outln!("{}", Value::from(names));
    } else if !names.is_empty() {
        outln!("{}", names.join("\n"));
    }
    Ok(())
}
