//! `raspi-mcp fleet init`, `sign`, `renew` and `revoke`: the owner's folder.

use crate::{
    cli::{
        exit::{Exit, Failure},
        say::outln,
    },
    fleet::desk::{self, NewFleet, OwnCertificate},
};
use base::clock;
use fleet_protocol::enrolment::{EnrolmentRequest, Membership};
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
};

#[derive(clap::Args)]
pub struct InitArgs {
    /// The folder, which must not exist
    folder: PathBuf,
    /// The name of the fleet: 1 to 63 of a-z, 0-9 and "-"
    #[arg(long, value_name = "NAME")]
    name: String,
    /// An address of the broker, like tls://broker.example.org:4222; may be repeated
    #[arg(long = "server", value_name = "ADDRESS", required = true)]
    servers: Vec<String>,
    /// Another name or address of the broker, for its certificate; may be repeated
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
}

#[derive(clap::Args)]
pub struct SignArgs {
    /// The folder of the fleet, with ca.key
    folder: PathBuf,
    /// The device's request, from `raspi-mcp fleet enroll`
    request: PathBuf,
    /// Where to write the answer, for `raspi-mcp fleet join`
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The ID that the device has: another one is refused. Its console shows it: raspi-mcp approver list
    #[arg(long, value_name = "ID")]
    device: Option<String>,
}

#[derive(clap::Args)]
pub struct RenewArgs {
    /// The folder of the fleet, with ca.key
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// The device
    ///
    /// Or a certificate of the folder itself: server.pem of the broker, console.pem of this console, or ca.pem of the authority.
    name: String,
    /// Where to write the answer, for `raspi-mcp fleet join`; default: standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(clap::Args)]
pub struct RevokeArgs {
    /// The folder of the fleet
    folder: PathBuf,
    /// The device
    name: String,
}

pub fn init(args: &InitArgs) -> Result<(), Failure> {
    let new = NewFleet { name: args.name.clone(), servers: args.servers.clone(), hosts: args.hosts.clone() };
    desk::init(&args.folder, &new)?;
    let folder = args.folder.display();
    outln!("fleet    {} in {folder}. Its keys are secret: ca.key, fleet.key, console.key", args.name);
    outln!("broker   cd {folder} && nats-server -c nats-server.conf, or with systemd: {folder}/raspi-mcp-nats.service");
    outln!("streams  raspi-mcp fleet doctor --dir {folder}    # makes them, once the broker runs");
    outln!("devices  raspi-mcp fleet enroll --name NAME --out request    # at each device");
    Ok(())
}

pub fn sign(args: &SignArgs) -> Result<(), Failure> {
    let file = args.request.display();
    let text = fs::read_to_string(&args.request)
        .map_err(|error| Failure::new(Exit::Usage, format!("{file} cannot be read: {error}")))?;
    let request = EnrolmentRequest::read(&text)?;
    let id = request.key.id();
    if args.device.as_ref().is_some_and(|expected| !expected.eq_ignore_ascii_case(&id)) {
        let why = format!("{file} is of another device; its ID is {id}\n  nothing was signed");
        return Err(Failure::new(Exit::Failed, why));
    }
    let membership = desk::sign(&args.folder, &request)?;
    write(&args.out, &membership)?;
    outln!("signed   {}, device ID {id}", request.name);
    if args.device.is_none() {
        outln!("compare  it with the ID at the device's console (raspi-mcp approver list); is it another, revoke it");
    }
    outln!("answer   {}, for: raspi-mcp fleet join {}", args.out.display(), args.out.display());
    outln!("broker   has to load its users again: systemctl reload raspi-mcp-nats, or nats-server --signal reload");
    Ok(())
}

pub fn renew(args: &RenewArgs) -> Result<(), Failure> {
    if let Some(own) = OwnCertificate::of_file(&args.name) {
        return renew_own(args, own);
    }
    let membership = desk::renew(&args.dir, &args.name)?;
    let Some(out) = &args.out else {
        outln!("{:#}", json!(membership));
        return Ok(());
    };
    write(out, &membership)?;
    outln!("renewed  {}: the certificate before is valid until it ends", args.name);
    outln!("answer   {}, for: raspi-mcp fleet join {}", out.display(), out.display());
    Ok(())
}

/// One of the folder's own: no device has to take anything.
fn renew_own(args: &RenewArgs, own: OwnCertificate) -> Result<(), Failure> {
    if args.out.is_some() {
        let why = format!("--out is for the answer to a device; {} is replaced in {}", own.file(), args.dir.display());
        return Err(Failure::new(Exit::Usage, why));
    }
    let expires = own.renew(&args.dir)?;
    outln!(
        "renewed  {}, with the key that it had: {} is valid until {}",
        own.file(),
        own.what(),
        clock::stamp(expires)
    );
    outln!("devices  need nothing");
    let broker = "has to load it: systemctl reload raspi-mcp-nats, or nats-server --signal reload";
    let elsewhere = "On another computer, copy it there first";
    match own {
        OwnCertificate::Server => outln!("broker   {broker}. {elsewhere}"),
        OwnCertificate::Authority => {
            outln!("broker   {broker}. {elsewhere}");
            outln!("console  restart raspi-mcp fleet serve, watch, connect and rollout start where they run");
        }
        OwnCertificate::Console => {
            outln!("console  restart raspi-mcp fleet serve, watch, connect and rollout start where they run");
        }
    }
    Ok(())
}

fn write(out: &Path, membership: &Membership) -> Result<(), Failure> {
    fs::write(out, format!("{:#}\n", json!(membership)))
        .map_err(|error| Failure::new(Exit::Failed, format!("{} cannot be written: {error}", out.display())))
}

pub fn revoke(args: &RevokeArgs) -> Result<(), Failure> {
    desk::revoke(&args.folder, &args.name)?;
    outln!("revoked  {}: no status of it counts from now on", args.name);
    outln!("broker   has to load its users again: systemctl reload raspi-mcp-nats, or nats-server --signal reload");
    Ok(())
}
