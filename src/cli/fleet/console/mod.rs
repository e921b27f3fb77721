//! The commands of the owner's console: the fleet as its broker shows it.

mod halt;
mod ls;
mod rollout;
mod selection;
mod status;
mod table;
mod watch;

pub use status::{TableArgs, status};

use crate::{
    cli::exit::Failure,
    fleet::console::{Console, FleetFolder},
};
use base::clock::Wall;
use std::path::Path;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Follow the fleet: what changes, which devices become silent, what is refused. Until interrupted
    ///
    /// Exit codes: 3 the folder is invalid; 4 the broker does not answer.
    Watch(watch::Args),
    /// List the names of devices, one on each line
    ///
    /// Without a filter only the folder is read; with one, the broker is asked. Exit codes: 0; 3 the folder is invalid; 4 the
    /// broker does not answer.
    Ls(ls::Args),
    /// Halt devices: they refuse every change until it is lifted at each of them
    ///
    /// The order is signed with the fleet's key. A device that is not connected does not hear it.
    ///
    /// Exit codes: 0 all confirm it; 3 the folder is invalid; 4 the broker does not answer, or a device did not confirm it.
    Halt(halt::Args),
    /// Roll a release out in stages, by a signed plan that stops by itself
    #[command(subcommand)]
    Rollout(rollout::Command),
}

pub fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Watch(args) => watch::run(args),
        Command::Ls(args) => ls::run(args),
        Command::Halt(args) => halt::run(args),
        Command::Rollout(command) => rollout::run(command),
    }
}

async fn connected(dir: &Path) -> Result<Console, Failure> {
    Ok(Console::connect(FleetFolder::read(dir)?, Wall::system()).await?)
}
