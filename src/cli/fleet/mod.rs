//! `raspi-mcp fleet`: the devices of an inventory, asked over MCP, and those of a fleet with a broker (docs/fleet.md).

#[cfg(feature = "console")]
mod console;
#[cfg(feature = "fleet")]
mod member;
mod table;

#[cfg(feature = "console")]
pub use console::NewMember;

use super::{
    bar::Bar,
    exit::{Exit, Failure},
    say::outln,
    sources,
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
    /// Show all devices: version, slot, result of the last update, health, problems
    ///
    /// With --inventory, each device is asked over MCP. With --dir, the statuses that the devices sent to the fleet's broker are
    /// read and checked.
    ///
    /// Exit codes: 0 all are healthy; 1 a device has a problem; 3 the inventory or the folder is invalid; 4 a device (or the
    /// broker) does not answer; 5 a device refuses its token, and the others answer; with --dir: a status was refused.
    Status(StatusArgs),
    /// At a device: make its key, and the request to become a member of a fleet
    ///
    /// Needs root at the machine. An appliance is asked in the network, with --url, --key and --device.
    #[cfg(feature = "fleet")]
    Enroll(member::EnrollArgs),
    /// At a device: take the answer of the fleet's owner; it counts from the next start on
    #[cfg(feature = "fleet")]
    Join(member::JoinArgs),
    #[cfg(feature = "console")]
    #[command(flatten)]
    Console(console::Command),
}

#[derive(clap::Args)]
struct StatusArgs {
    /// The list of devices: a TOML file of tables [[devices]] with name, url, pin and token_file (docs/fleet.md)
    #[arg(long, value_name = "FILE")]
    #[cfg_attr(feature = "console", arg(required_unless_present = "dir", conflicts_with = "dir"))]
    #[cfg_attr(not(feature = "console"), arg(required = true))]
    inventory: Option<PathBuf>,
    #[cfg(feature = "console")]
    #[command(flatten)]
    console: console::TableArgs,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

/// The machine-readable answer.
#[derive(Serialize)]
struct Answer<'a> {
    asked_at: String,
    devices: &'a [DeviceReport],
}

pub fn run(args: &Args, sources: &sources::Args) -> Result<(), Failure> {
    match &args.command {
        Command::Status(args) => status(args),
        #[cfg(feature = "fleet")]
        Command::Enroll(args) => member::enroll(args, sources),
        #[cfg(feature = "fleet")]
        Command::Join(args) => member::join(args, sources),
        #[cfg(feature = "console")]
        Command::Console(command) => console::run(command, sources),
    }
}

fn status(args: &StatusArgs) -> Result<(), Failure> {
    let Some(inventory) = &args.inventory else {
        #[cfg(feature = "console")]
        return console::status(&args.console, args.json);
        #[cfg(not(feature = "console"))]
        return Ok(());
    };
    let inventory = Inventory::read(inventory)
        .map_err(|faults| Failure::new(Exit::Config, format!("the inventory is wrong:\n{faults}")))?;
    let asked_at = clock::now();
    let (bar, all) = (Bar::default(), inventory.devices.len());
    let shown = |done| bar.show("asking", done as u64, all as u64, &format!("{done} of {all} devices"));
    let reports = super::runtime()?.block_on(fleet::ask(&inventory, shown));
    drop(bar);
    if args.json {
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
