//! `raspi-mcp fleet`: the status of the devices in an inventory (docs/fleet.md). Queries them over MCP; changes
//! nothing.

mod table;

use super::{
    exit::{Exit, Failure},
    say::outln,
};
use crate::fleet::{self, DeviceReport, Inventory};
use base::clock;
use serde::Serialize;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Query each device, several at once: version, both slots, result of the last update, problems
    ///
    /// Exit codes: 0 all are healthy; 1 a device has a problem; 3 the inventory is invalid; 4 a device does not answer; 5 a
    /// device refuses its token, and the others answer.
    Status {
        /// The list of devices: a TOML file of tables [[devices]] with name, url, pin and token_file (docs/fleet.md)
        #[arg(long, value_name = "FILE")]
        inventory: PathBuf,
        /// Print everything as JSON
        #[arg(long)]
        json: bool,
    },
}

/// The machine-readable answer.
#[derive(Serialize)]
struct Answer<'a> {
    asked_at: String,
    devices: &'a [DeviceReport],
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let Command::Status { inventory, json } = &args.command;
    let inventory = Inventory::read(inventory)
        .map_err(|faults| Failure::new(Exit::Config, format!("the inventory is wrong:\n{faults}")))?;
    let asked_at = clock::now();
    let reports = super::runtime()?.block_on(fleet::ask(&inventory));
    if *json {
        let text = serde_json::to_string_pretty(&Answer { asked_at, devices: &reports });
        outln!("{}", text.map_err(|error| Failure::new(Exit::Failed, error.to_string()))?);
    } else {
        outln!("{}", table::drawn(&reports));
    }
    match exit(&reports) {
        Exit::Done => Ok(()),
        // Already reported.
        exit => Err(Failure::new(exit, "")),
    }
}

/// The most severe exit code.
fn exit(reports: &[DeviceReport]) -> Exit {
    let refused = |report: &DeviceReport| report.error.as_ref().map(|error| error.refused);
    if reports.iter().any(|report| refused(report) == Some(false)) {
        Exit::Unreachable
    } else if reports.iter().any(|report| refused(report) == Some(true)) {
        Exit::Refused
    } else if reports.iter().any(|report| report.healthy == Some(false)) {
        Exit::Failed
    } else {
        Exit::Done
    }
}
