//! `raspi-mcp bundle`: makes, signs and inspects bundles (docs/bundle-format.md). For the publisher's computer; needs
//! no configuration, server or Raspberry Pi. Device builds verify and inspect alone (decisions 338 and 393).

#[cfg(feature = "console")]
mod build;
#[cfg(feature = "console")]
mod changed;
#[cfg(feature = "console")]
mod delta;
pub(super) mod files;
mod inspect;
#[cfg(feature = "console")]
mod keygen;
#[cfg(feature = "console")]
mod publishing;
#[cfg(feature = "console")]
mod sign;
#[cfg(feature = "console")]
mod trust;
mod verify;

use super::{exit::Failure, say::outln};
use contract::config::keys::KEYS;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Build a bundle from a root image and a boot image
    #[cfg(feature = "console")]
    Build(build::Args),
    /// Add a signature to a bundle
    #[cfg(feature = "console")]
    Sign(sign::Args),
    /// Verify a bundle: signatures, hashes, every block
    Verify(verify::Args),
    /// Show the contents of a bundle's head, without verifying it
    Inspect(inspect::Args),
    /// Print how much a device with the old version would download
    #[cfg(feature = "console")]
    DeltaSize(delta::Args),
    /// Print the settings that this program knows, one per line, for `build --config-keys`
    ConfigKeys,
    /// Generate a key pair
    #[cfg(feature = "console")]
    Keygen(keygen::Args),
    /// Create, sign, rotate and show roots of trust
    #[cfg(feature = "console")]
    Trust(trust::Args),
}

pub fn run(args: Args) -> Result<(), Failure> {
    match args.command {
        #[cfg(feature = "console")]
        Command::Build(args) => build::run(args),
        #[cfg(feature = "console")]
        Command::Sign(args) => sign::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        #[cfg(feature = "console")]
        Command::DeltaSize(args) => delta::run(&args),
        Command::ConfigKeys => {
            KEYS.iter().for_each(|key| outln!("{}", key.name));
            Ok(())
        }
        #[cfg(feature = "console")]
        Command::Keygen(args) => keygen::run(&args),
        #[cfg(feature = "console")]
        Command::Trust(args) => trust::run(args),
    }
}
