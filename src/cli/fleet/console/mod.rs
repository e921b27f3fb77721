//! The commands of the owner's console: the fleet as its broker shows it.

mod call;
mod claimed;
mod connect;
mod desk;
mod doctor;
mod halt;
mod log;
mod ls;
mod rollout;
mod selection;
mod serve;
mod status;
mod table;
mod watch;

pub use claimed::NewMember;
pub use status::{TableArgs, status};

use crate::{
    cli::{exit::Failure, say::errln, sources},
    fleet::{
        console::{Console, FleetFolder},
        desk::OwnCertificate,
    },
};
use base::clock::{self, Wall};
use std::{path::Path, time::Duration};
use time::OffsetDateTime;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Make the folder of a new fleet: keys, certificates, and the broker's configuration
    Init(desk::InitArgs),
    /// Sign the request of a device: it becomes a member
    Sign(desk::SignArgs),
    /// Sign a new certificate for a device, for the key that it has
    ///
    /// `raspi-mcp fleet join` takes it at the device. `raspi-mcp fleet doctor` names the devices whose certificate ends soon.
    ///
    /// `server.pem`, `console.pem` and `ca.pem` instead of a device are the folder's own: the one that is named is replaced, for the key
    /// that it has.
    Renew(desk::RenewArgs),
    /// Take a device out of the fleet
    Revoke(desk::RevokeArgs),
    /// Check the connection to the broker, and make or correct its streams
    ///
    /// Exit codes: 1 the broker refuses; 3 the folder is invalid; 4 the broker does not answer.
    Doctor(doctor::Args),
    /// Follow the fleet: what changes, which devices become silent, what is refused. Until interrupted
    ///
    /// Exit codes: 3 the folder is invalid; 4 the broker does not answer.
    Watch(watch::Args),
    /// List the names of devices, one on each line
    ///
    /// Without a filter only the folder is read; with one, the broker is asked. Exit codes: 0; 3 the folder is invalid; 4 the
    /// broker does not answer.
    Ls(ls::Args),
    /// Show what devices told once: results of updates, asks that waited for a person, heads of the audit
    ///
    /// In the order in which the broker received it. It keeps the last 64 messages of each device for 180 days.
    ///
    /// Exit codes: 0; 3 the folder is invalid; 4 the broker does not answer; 5 a message was refused.
    Log(log::Args),
    /// Halt devices: they refuse every change until it is lifted at each of them
    ///
    /// The order is signed with the fleet's key. A device that is not connected does not hear it.
    ///
    /// Exit codes: 0 all confirm it; 3 the folder is invalid; 4 the broker does not answer, or a device did not confirm it.
    Halt(halt::Args),
    /// Call one tool of one device, through the broker
    ///
    /// The device's own TLS and token decide. Exit codes: as those of `raspi-mcp call`; 3 the folder is invalid; 4 the broker or the
    /// device does not answer.
    Call(call::Args),
    /// Open a local port that leads to a device's own listener, through the broker
    ///
    /// Everything that the device serves with TLS works there, with its own pin and tokens: MCP, the page, approvals. The broker
    /// sees only ciphertext. Runs until interrupted.
    ///
    /// Exit codes: 1 the port cannot be used; 3 the folder is invalid; 4 the broker does not answer.
    Connect(connect::Args),
    /// Serve the whole fleet to an assistant: one MCP endpoint with tools for all devices
    ///
    /// Configured by DIR/serve/config.toml, with the keys of a device's server, and by DIR/serve.toml: whose device tokens
    /// fleet.call uses (docs/fleet.md). Exit codes: 1 it cannot start, or the broker does not answer; 3 the
    /// configuration or the folder is invalid.
    Serve(serve::ServeArgs),
    /// Roll a release out in stages, by a signed plan that stops by itself
    #[command(subcommand)]
    Rollout(rollout::Command),
}

pub fn run(command: &Command, sources: &sources::Args) -> Result<(), Failure> {
    match command {
        Command::Init(args) => desk::init(args),
        Command::Sign(args) => desk::sign(args),
        Command::Renew(args) => desk::renew(args),
        Command::Revoke(args) => desk::revoke(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Watch(args) => watch::run(args),
        Command::Ls(args) => ls::run(args),
        Command::Log(args) => log::run(args),
        Command::Halt(args) => halt::run(args),
        Command::Call(args) => call::run(args),
        Command::Connect(args) => connect::run(args),
        Command::Serve(args) => serve::run(args, sources),
        Command::Rollout(command) => rollout::run(command),
    }
}

/// How long before the end of one of the folder's own certificates every command says so.
const LAST_CALL: Duration = Duration::from_secs(30 * 86_400);

async fn connected(dir: &Path) -> Result<Console, Failure> {
    for (own, end) in OwnCertificate::ending(dir, OffsetDateTime::now_utc(), LAST_CALL) {
        let (file, what, end, dir) = (own.file(), own.what(), clock::stamp(end), dir.display());
        errln!("{file}, {what}, is valid until {end}: raspi-mcp fleet renew --dir {dir} {file}");
    }
    Ok(Console::connect(FleetFolder::read(dir)?, Wall::system()).await?)
}
