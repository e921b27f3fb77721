//! `raspi-mcp fleet doctor`: whether the broker can be used, with its streams as they have to be.

use crate::{
    cli::{exit::Failure, runtime, say::outln},
    fleet::console::{Console, FleetFolder},
};
use base::clock::Wall;
use std::path::PathBuf;
use time::OffsetDateTime;

#[derive(clap::Args)]
pub struct Args {
    /// The folder of the fleet
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let folder = FleetFolder::read(&args.dir)?;
    // First: they are known also while the broker does not answer.
    for device in folder.ending(OffsetDateTime::now_utc()) {
        let (name, end) = (&device.name, device.expires.as_deref().unwrap_or_default());
        outln!(
            "renew      {name}: its certificate is valid until {end}; raspi-mcp fleet renew --dir {} {name}",
            args.dir.display()
        );
    }
    runtime()?.block_on(async {
        let console = Console::connect(folder, Wall::system()).await?;
        outln!("connected  to the broker of the fleet {}, with the certificate of the console", console.folder.name);
        console.ensure_streams().await?;
        outln!("streams    are as they have to be: statuses, log, rollouts");
        outln!("devices    {} in the folder that are not revoked", console.folder.active().count());
        Ok(())
    })
}
