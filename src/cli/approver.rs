//! `raspi-mcp approver`: people who answer asks with a key of their own, from anywhere (docs/approvals.md).

use super::{
    claim::{asked, first_approver},
    exit::{Exit, Failure},
    order::{self, Device},
    say::{errln, outln},
    sources, target,
};
use crate::{
    claim::{client, uri::device_id},
    client::Remote,
    registry::Registry,
    terminal::printable,
};
use agent::{
    AgentLink, Client,
    approvers::{ApproverKey, ApproverSecret, Enrolled, KeyKind, NewApprover},
    operations::approvals::{AddApprover, DescribeDevice, ListApprovers, RevokeApprover, RevokeRequest},
};
use appliance::{Code, certificate::Fingerprint};
use base::error::ToolError;
use serde_json::{Value, json};
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
        /// The public key: base64url of its SubjectPublicKeyInfo. With --url give --key twice: also your own secret key, a file
        #[arg(long, value_name = "KEY", required = true)]
        key: Vec<String>,
        /// Where the key is kept: cli, passkey or browser
        #[arg(long, default_value = "cli", value_parser = kind)]
        kind: KeyKind,
        /// The page at which a passkey or browser key is used, e.g. https://approve.example.org
        #[arg(long, value_name = "ORIGIN")]
        origin: Option<String>,
        /// The address of a device in the network; default: this device
        #[arg(long, requires = "device")]
        url: Option<String>,
        /// The fingerprint of its certificate (sha256:...)
        #[arg(long, value_name = "PIN", requires = "url", value_parser = target::pin)]
        pin: Option<Fingerprint>,
        /// The device's ID, as `raspi-mcp approver add` printed it at its console
        #[arg(long, value_name = "ID", requires = "url")]
        device: Option<String>,
    },
    /// Enrol the first approver of an appliance over the network, with an admin token and a code that the device then shows
    Enroll(Enrolment),
    /// List the approvers and the device's ID
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        device: Device,
    },
    /// Revoke an approver immediately. Runs on the device, as root, or signed from elsewhere
    Revoke {
        /// The approver's name, as in `raspi-mcp approver list`
        name: String,
        #[command(flatten)]
        device: Device,
    },
}

#[derive(clap::Args)]
struct Enrolment {
    /// The device's address, e.g. https://pi.local:8443
    #[arg(long)]
    url: String,
    /// The fingerprint of its certificate (sha256:...); without it, the certificate must be signed by an authority that this machine trusts
    #[arg(long, value_name = "PIN", value_parser = target::pin)]
    pin: Option<Fingerprint>,
    /// A file that contains an admin's bearer token; default: the variable RASPI_MCP_TOKEN
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The file of `raspi-mcp approver key`, or the public key that it printed
    #[arg(long, value_name = "FILE|KEY")]
    key: String,
    /// The approver's name, as the audit log will show it
    #[arg(long, default_value = "owner")]
    name: String,
    /// The device's ID, as it shows it; the device must prove it
    #[arg(long, value_name = "ID", value_parser = device)]
    device: Option<String>,
}

/// Parses a device's ID.
pub fn device(text: &str) -> Result<String, String> {
    device_id(text).ok_or_else(|| "a device's ID has 64 hexadecimal digits, as the device shows it".into())
}

/// The command that answers what waits on a device.
pub fn how_to_approve(url: &str, pin: Option<Fingerprint>, key: Option<&str>, device: &str) -> String {
    let pin = pin.map(|pin| format!(" --pin {pin}")).unwrap_or_default();
    let key = key.filter(|key| Path::new(key).exists()).unwrap_or("FILE");
    format!(
        "Compare its ID with the one on its screen. To answer what waits for an approval:\n\
         raspi-mcp approve --url {url}{pin} --key {key} --device {device}"
    )
}

/// Asks for a code, and brings it with the approver's key.
fn enroll(given: Enrolment) -> Result<(), Failure> {
    let approver = first_approver(&given.key, &given.name)?;
    let mut remote = Remote::new(&given.url, "/", given.pin, given.token_file)?;
    remote.url.set_path("/approvals/enroll");
    let runtime = super::runtime()?;
    let opened = runtime.block_on(client::post(&remote, &json!({})))?;
    errln!("The device shows a code on its screen and console; it is taken for {} s.", opened["seconds"]);
    let code = Code::parse(&asked("The code it shows: ")?).map_err(ToolError::from)?.to_string();
    let done = runtime.block_on(client::post(&remote, &json!({ "code": code, "approver": approver })))?;
    let device = client::vouched(&done["device"], given.device.as_deref(), &code, Some(&approver.key))?;
    outln!("{} may answer approval requests", approver.name);
    outln!("device {device}");
    errln!("{}", how_to_approve(&given.url, given.pin, Some(&given.key), &device));
    Ok(())
}

fn kind(text: &str) -> Result<KeyKind, String> {
    KeyKind::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| "write cli, passkey or browser".into())
}

pub fn run(args: Args, sources: &sources::Args) -> Result<(), Failure> {
    let agent = || {
        let settings = sources.settings(&Registry::new(crate::tools::NAMESPACES), Vec::new())?;
        let socket = sources::reach(&settings.places.agent_socket, |places| places.agent_socket.clone());
        Ok::<_, Failure>(AgentLink::Socket(Client::new(&socket)))
    };
    match args.command {
        Command::Key { out } => make(&out),
        Command::Enroll(given) => enroll(given),
        Command::Add { name, key, kind, origin, url, pin, device } => {
            let (key, own) = keys(key, url.is_some())?;
            let new = NewApprover { name, kind, key, origin };
            if url.is_some() {
                return order::send(&Device { url, pin, key: own, device }, "add_approver", &json!(new));
            }
            let agent = agent()?;
            super::runtime()?.block_on(async {
                let added = agent.call::<AddApprover>(new).await?;
                let device = agent.get::<DescribeDevice>().await?;
                outln!("{}\ndevice {}", added.added(), device.id);
                Ok(())
            })
        }
        Command::List { json, device } => {
            let listed = match device.url {
                Some(_) => order::performed(&device, "list_approvers", &json!({}))?,
                None => listed(&agent()?)?,
            };
            // An older device has no such field.
            let unread = listed["unread"].as_array().cloned().unwrap_or_default();
            match json {
                true => outln!(
                    "{}",
                    json!({ "device": listed["device"], "approvers": listed["approvers"], "unread": unread })
                ),
                false => outln!("{}", order::text(&listed)),
            }
            Ok(())
        }
        Command::Revoke { name, device } => {
            if device.url.is_some() {
                return order::send(&device, "revoke_approver", &json!({ "name": name }));
            }
            let agent = agent()?;
            super::runtime()?.block_on(async {
                let gone = agent.call::<RevokeApprover>(RevokeRequest { name }).await?;
                outln!("{}", gone.revoked(&agent.get::<ListApprovers>().await?));
                Ok(())
            })
        }
    }
}

/// The list as an order answers it, from this machine's agent.
fn listed(agent: &AgentLink) -> Result<Value, Failure> {
    super::runtime()?.block_on(async {
        let (device, list) = (agent.get::<DescribeDevice>().await?.id, agent.get::<ListApprovers>().await?);
        Ok(Enrolled::listed(&device, &list))
    })
}

/// The public key to enrol and, for a device elsewhere, the file of the key that signs: neither can be taken for the other.
fn keys(given: Vec<String>, elsewhere: bool) -> Result<(String, Option<PathBuf>), Failure> {
    let is_public = |text: &String| ApproverKey::parse(text).is_some();
    let (mut public, files): (Vec<String>, Vec<String>) = given.into_iter().partition(is_public);
    match (public.len(), files.as_slice(), elsewhere) {
        (1, [], false) => Ok((public.remove(0), None)),
        (1, [file], true) => Ok((public.remove(0), Some(file.into()))),
        // The agent says what is wrong with it.
        (0, [key], false) => Ok((key.clone(), None)),
        (_, _, false) => Err(Failure::new(Exit::Usage, "give one --key: the public key that shall count")),
        _ => Err(Failure::new(
            Exit::Usage,
            "with --url give --key twice: the public key that shall count, and the file of your own secret key",
        )),
    }
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
