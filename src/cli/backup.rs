//! `raspi-mcp backup`: one file with what a machine is and how it is set up, which only a passphrase opens (docs/backup.md).

mod passphrase;

use super::{
    exit::{Exit, Failure},
    order::{self, Device},
    say::{errln, outln},
    sources,
};
use crate::{registry::Registry, terminal::printable};
use agent::{
    AgentLink, Client,
    operations::backup::{BackupRequest, MakeBackup, SealedBackup},
};
use appliance::backup::{
    self, Backup,
    sealed::{MAX_FILE, seal},
    transfer::Recipient,
};
use base::{clock::Stamp, error::ToolError};
use serde::Deserialize;
use serde_json::json;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

#[derive(clap::Args)]
pub struct Args {
    /// Write the backup to this new file, which only you can read
    #[arg(long, value_name = "FILE", required_unless_present = "check")]
    out: Option<PathBuf>,
    /// With the keys, tokens and fleet of the machine: restored on a new card, it is the same device for its clients. Needs root, or --url with the key of an approver
    #[arg(long)]
    identity: bool,
    /// A file with the passphrase, or - for standard input; without it, you are asked
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Open a backup and say what is in it, without its secrets
    #[arg(long, value_name = "FILE", conflicts_with_all = ["out", "identity", "url"])]
    check: Option<PathBuf>,
    #[command(flatten)]
    device: Device,
}

pub fn run(args: &Args, sources: &sources::Args) -> Result<(), Failure> {
    if let Some(file) = &args.check {
        let backup = opened(file, args.passphrase_file.as_deref())?;
        outln!("{}", told(&backup));
        return Ok(());
    }
    let Some(out) = &args.out else { return Err(Failure::new(Exit::Usage, "--out is missing")) };
    // Before anything is asked for: a backup that cannot be written must not be made.
    let mut file = create(out)?;
    let written = made(args, sources).and_then(|(bytes, left_out)| {
        file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(|error| unwritten(out, &error))?;
        Ok(left_out)
    });
    let left_out = written.inspect_err(|_| drop(fs::remove_file(out)))?;
    left_out.iter().for_each(|line| errln!("{}", printable(line)));
    outln!("{}", out.display());
    errln!("Keep it and its passphrase in two places: without the passphrase nobody opens it.");
    Ok(())
}

/// The file of a backup, and what is not in it.
fn made(args: &Args, sources: &sources::Args) -> Result<(Vec<u8>, Vec<String>), Failure> {
    let passphrase = passphrase::new(args.passphrase_file.as_deref())?;
    let recipient = Recipient::make()?;
    let request = BackupRequest { identity: args.identity, to: recipient.public() };
    let sealed = match &args.device.url {
        Some(_) => {
            let done = order::performed(&args.device, "backup", &json!(request))?;
            SealedBackup::deserialize(&done["backup"])
                .map_err(|error| ToolError::internal(format!("the device sent no backup: {error}")))?
        }
        None => {
            let settings = sources.settings(&Registry::new(crate::tools::NAMESPACES), Vec::new())?;
            let socket = sources::reach(&settings.places.agent_socket, |places| places.agent_socket.clone());
            let agent = AgentLink::Socket(Client::new(&socket));
            super::runtime()?.block_on(agent.call::<MakeBackup>(request.clone()))?
        }
    };
    let message = sealed.verified(args.device.device.as_deref(), &request.to)?;
    let json = recipient.open(&message)?;
    Backup::parse(&json)?;
    Ok((seal(&json, &passphrase)?, sealed.left_out))
}

/// The backup in a file, by the passphrase of its owner.
pub(super) fn opened(file: &Path, passphrase_file: Option<&Path>) -> Result<Backup, Failure> {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|file| file.take(MAX_FILE as u64 + 1).read_to_end(&mut bytes));
    read.map_err(|error| Failure::new(Exit::Failed, format!("{}: {error}", file.display())))?;
    Ok(backup::open(&bytes, &passphrase::known(passphrase_file)?)?)
}

/// What is in it, for people. It may be another's.
fn told(backup: &Backup) -> String {
    let identity = if backup.has_identity() { "with" } else { "without" };
    let made = Stamp(backup.made_ms);
    let mut text = format!(
        "a backup of device {} ({}), made at {made} by version {}, {identity} its identity, generation {}",
        backup.device, backup.product, backup.version, backup.generation
    );
    let name = backup.identity.get("name").and_then(serde_json::Value::as_str);
    text.extend(name.map(|name| format!("\nname {name}")));
    text.extend(backup.credentials().iter().map(|one| format!("\nlets in {} ({})", one.label(), one.about)));
    text.extend(backup.connections.keys().map(|name| format!("\nconnection {name}")));
    text.extend(backup.files.site.keys().map(|path| format!("\n/etc/raspi-mcp/{path}")));
    text.extend(backup.files.agent.keys().map(|name| format!("\nof the agent: {name}")));
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

fn create(path: &Path) -> Result<File, Failure> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.map_err(|error| unwritten(path, &error))
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Failed, format!("cannot write {}: {error}\n  name a file that is not there yet", path.display()))
}
