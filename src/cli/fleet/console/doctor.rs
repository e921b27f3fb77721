//! `raspi-mcp fleet doctor`: whether the broker can be used, with its streams as they have to be.

use crate::{
    cli::{exit::Failure, runtime, say::outln},
    fleet::{
        console::{Console, FleetFolder},
        desk::{OwnCertificate, RENEW_BEFORE},
    },
};
use base::clock::{self, Wall};
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
    let now = OffsetDateTime::now_utc();
    for (own, end) in OwnCertificate::ending(&args.dir, now, RENEW_BEFORE) {
        let (file, what, valid) =
            (own.file(), own.what(), if end < now { "was valid until" } else { "is valid until" });
        let (end, dir) = (clock::stamp(end), args.dir.display());
        outln!("renew      {file}: {what} {valid} {end}; raspi-mcp fleet renew --dir {dir} {file}");
    }
    for device in folder.ending(now) {
        let (name, end) = (&device.name, device.expires.as_deref().unwrap_or_default());
        outln!(
            "renew      {name}: its certificate is valid until {end}; raspi-mcp fleet renew --dir {} {name}",
            args.dir.display()
        );
    }
    if !folder.accounts {
        outln!(
            "limits     of one device are none: an older version made this fleet; docs/fleet.md says how to move it"
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
