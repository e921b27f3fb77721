//! `raspi-mcp approver`: people who answer asks with a key of their own, from anywhere (docs/approvals.md).

use super::{
    exit::{Exit, Failure},
    say::outln,
    sources,
};
use crate::{registry::Registry, terminal::printable};
use agent::{
    AgentLink, Client,
    approvers::{ApproverSecret, KeyKind, NewApprover},
    operations::approvals::{AddApprover, DescribeDevice, ListApprovers, RevokeApprover, RevokeRequest},
};
use contract::audit::rfc3339;
use serde_json::json;
use std::{
    fs::OpenOptions,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Create a key for `raspi-mcp approve --key` on your own computer, and print its public half
    Key {
        /// Write the secret key to this new file, which only you can read
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Let a key answer approval requests. Runs on the device, as root; prints the device's ID
    Add {
        /// The approver's name, as the audit log will show it
        #[arg(long)]
        name: String,
        /// The public key: base64url of its SubjectPublicKeyInfo
        #[arg(long, value_name = "KEY")]
        key: String,
        /// Where the key is kept: cli, passkey or browser
        #[arg(long, default_value = "cli", value_parser = kind)]
        kind: KeyKind,
        /// The page at which a passkey or browser key is used, e.g. https://approve.example.org
        #[arg(long, value_name = "ORIGIN")]
        origin: Option<String>,
    },
    /// List the approvers and the device's ID
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke an approver immediately. Runs on the device, as root
    Revoke {
        /// The approver's name, as in `raspi-mcp approver list`
        name: String,
    },
}

fn kind(text: &str) -> Result<KeyKind, String> {
    KeyKind::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| "write cli, passkey or browser".into())
}

pub fn run(args: Args, sources: &sources::Args) -> Result<(), Failure> {
    if let Command::Key { out } = &args.command {
        return make(out);
    }
    let settings = sources.settings(&Registry::new(crate::tools::NAMESPACES), Vec::new())?;
    let socket = sources::reach(&settings.places.agent_socket, |places| places.agent_socket.clone());
    let agent = AgentLink::Socket(Client::new(&socket));
    super::runtime()?.block_on(async {
        match args.command {
            Command::Key { .. } => Ok(()),
            Command::Add { name, key, kind, origin } => {
                let added = agent.call::<AddApprover>(NewApprover { name, kind, key, origin }).await?;
                let device = agent.get::<DescribeDevice>().await?;
                outln!("{} may answer approval requests; key {}", added.name, added.key.id());
                outln!("device {}", device.id);
                Ok(())
            }
            Command::List { json: true } => {
                let (device, approvers) = (agent.get::<DescribeDevice>().await?, agent.get::<ListApprovers>().await?);
                let list: Vec<_> = approvers
                    .iter()
                    .map(|known| {
                        json!({
                            "name": known.name, "kind": known.kind, "key": known.key.id(), "origin": known.origin,
                            "added": rfc3339(known.added_ms), "added_by": known.added_by,
                        })
                    })
                    .collect();
                outln!("{}", json!({ "device": device.id, "approvers": list }));
                Ok(())
            }
            Command::List { json: false } => {
                let (device, approvers) = (agent.get::<DescribeDevice>().await?, agent.get::<ListApprovers>().await?);
                outln!("device {}", device.id);
                for known in approvers {
                    let at = known.origin.map(|origin| format!(" at {origin}")).unwrap_or_default();
                    let (kind, added) = (known.kind.name(), rfc3339(known.added_ms));
                    outln!("{}  {kind}{at}  key {}  added {added} by {}", known.name, known.key.id(), known.added_by);
                }
                Ok(())
            }
            Command::Revoke { name } => {
                let gone = agent.call::<RevokeApprover>(RevokeRequest { name }).await?;
                outln!("{} no longer answers; key {}", gone.name, gone.key.id());
                Ok(())
            }
        }
    })
}

/// Creates the secret key file and prints the public half.
fn make(out: &Path) -> Result<(), Failure> {
    let secret = ApproverSecret::generate()?;
    let public = ApproverSecret::from_pkcs8(&secret)?.public();
    let failed = |error: std::io::Error| Failure::new(Exit::Failed, format!("cannot write {}: {error}", out.display()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(out).map_err(failed)?;
    file.write_all(&secret).and_then(|()| file.sync_all()).map_err(failed)?;
    outln!("{}", public.text());
    Ok(())
}

/// Reads a secret key that [`make`] wrote.
///
/// # Errors
/// [`Exit::Failed`] naming the file.
pub fn secret(path: &Path) -> Result<ApproverSecret, Failure> {
    let der = std::fs::read(path)
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot read {}: {error}", path.display())))?;
    ApproverSecret::from_pkcs8(&der).map_err(|error| {
        let message = format!("{}: {}", printable(&path.display().to_string()), error.message);
        error.with_message(message).into()
    })
}
