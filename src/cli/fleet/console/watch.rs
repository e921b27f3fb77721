//! `raspi-mcp fleet watch`: what changes, one line each.

use super::{connected, selection::Selection, table};
use crate::{
    cli::{exit::Failure, runtime, say::outln},
    fleet::console::{
        report::DeviceRow,
        watch::{ChangeKind, FleetWatch},
    },
    terminal::printable,
};
use base::clock;
use serde_json::json;
use std::{path::PathBuf, sync::Arc};

#[derive(clap::Args)]
pub struct Args {
    /// The folder of the fleet
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    #[command(flatten)]
    selection: Selection,
    /// Print one JSON object for each change
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    runtime()?.block_on(watch(args))
}

async fn watch(args: &Args) -> Result<(), Failure> {
    let filter = args.selection.filter();
    let mut watch = FleetWatch::start(Arc::new(connected(&args.dir).await?), args.selection.after_ms()).await?;
    if !args.json {
        outln!("{}", table::drawn(&args.selection.rows(&watch.book().lock())));
        for (name, refused) in watch.book().lock().refused() {
            outln!("{}", table::refusal(name, refused, table::STATUS));
        }
    }
    loop {
        for change in watch.next().await {
            let silence = watch.silence();
            let book = watch.book().lock();
            let row = book.device(&change.name).map(|(device, status)| DeviceRow { device, status, silence });
            // What was refused, and what is about the broker, is for everybody.
            if change.kind != ChangeKind::Refused && row.is_some_and(|row| !filter.fits(&row)) {
                continue;
            }
            if args.json {
                let device = row.map(|row| row.json());
                let said = json!({
                    "at": clock::now(), "name": change.name, "change": change.what, "refused": change.kind == ChangeKind::Refused, "device": device,
                });
                outln!("{said}");
            } else {
                outln!("{}  {}: {}", clock::now(), printable(&change.name), printable(&change.what));
            }
        }
    }
}
