//! `raspi-mcp fleet doctor`: whether the broker can be used, with its streams as they have to be.

use super::connected;
use crate::cli::{exit::Failure, runtime, say::outln};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// The folder of the fleet
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    runtime()?.block_on(async {
        let console = connected(&args.dir).await?;
        outln!("connected  to the broker of the fleet {}, with the certificate of the console", console.folder.name);
        console.ensure_streams().await?;
        outln!("streams    are as they have to be: statuses, log, rollouts");
        outln!("devices    {} in the folder that are not revoked", console.folder.active().count());
        Ok(())
    })
}
