//! `raspi-mcp fleet halt`: the order to refuse every change, and who confirms it.

use super::connected;
use crate::{
    cli::{
        bar::Bar,
        exit::{Exit, Failure},
        runtime,
        say::outln,
    },
    fleet::console::halt::HaltWait,
};
use serde_json::json;
use std::{collections::BTreeSet, path::PathBuf, time::Duration};

#[derive(clap::Args)]
pub struct Args {
    /// The folder of the fleet, with fleet.key
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// The devices
    #[arg(value_name = "NAME", required_unless_present = "all", conflicts_with = "all")]
    names: Vec<String>,
    /// All devices of the fleet
    #[arg(long)]
    all: bool,
    /// Why: shown at each device
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Seconds to wait for the devices to confirm it
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(0..=3600))]
    wait: u64,
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let outcome = runtime()?.block_on(async {
        let console = connected(&args.dir).await?;
        let names: BTreeSet<String> = if args.all {
            console.folder.active().map(|device| device.name.clone()).collect()
        } else {
            args.names.iter().cloned().collect()
        };
        for name in &names {
            console.folder.device(name)?;
        }
        let (bar, all) = (Bar::default(), names.len());
        let told = |confirmed| {
            bar.show("halting", confirmed as u64, all as u64, &format!("{confirmed} of {all} devices confirm it"));
        };
        let wait = HaltWait { most: Duration::from_secs(args.wait), idle: None };
        Ok::<_, Failure>(console.halt(names, args.all, &args.reason, wait, told).await?)
    })?;
    if args.json {
        outln!("{}", json!({ "confirmed": outcome.confirmed, "open": outcome.open, "clones": outcome.clones }));
    } else {
        outln!("{} confirm that they are halted", outcome.confirmed.len());
        for name in &outcome.open {
            match outcome.clones.get(name) {
                Some(why) => outln!("{name} did not confirm it for sure: {why}"),
                None => outln!("{name} did not confirm it: it may be off or not connected, and then has not heard it"),
            }
        }
    }
    if outcome.open.is_empty() {
        return Ok(());
    }
    let hint = format!("{} did not confirm it; repeat the command when they are back", outcome.open.len());
    Err(Failure::new(Exit::Unreachable, hint))
}
