//! `raspi-mcp fleet enroll` and `join`: this machine, or an appliance in the network, becomes a member of a fleet.

use crate::{
    cli::{
        allow,
        exit::{Exit, Failure},
        order::{self, Device},
        runtime,
        say::outln,
        sources,
    },
    fleet_device::membership::MembershipFiles,
    registry::Registry,
    tls::shown,
};
use agent::{
    AgentLink, Client,
    operations::fleet::{MembershipWish, SignEnrolment},
};
use appliance::certificate::Fingerprint;
use base::{base64url, error::ToolError};
use contract::config::Settings;
use fleet_protocol::{enrolment::Membership, name};
use serde_json::json;
use std::{fs, path::PathBuf};

#[derive(clap::Args)]
pub struct EnrollArgs {
    /// The name that the device shall have in the fleet: 1 to 63 of a-z, 0-9 and "-"
    #[arg(long, value_name = "NAME")]
    name: String,
    /// Where to write the request, for `raspi-mcp fleet sign`; default: standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    device: Device,
}

#[derive(clap::Args)]
pub struct JoinArgs {
    /// The owner's answer, from `raspi-mcp fleet sign`
    answer: PathBuf,
    #[command(flatten)]
    device: Device,
}

/// Makes key and request.
pub fn enroll(args: &EnrollArgs, sources: &sources::Args) -> Result<(), Failure> {
    name::check("device", &args.name)?;
    let request = if args.device.url.is_some() {
        let pin = args.device.pin.map(|pin| pin.to_string());
        let done = order::performed(&args.device, "enroll_fleet", &json!({ "name": args.name, "pin": pin }))?;
        done["request"].as_str().unwrap_or_default().to_owned()
    } else {
        let settings = sources.settings(&Registry::new(crate::tools::NAMESPACES), Vec::new())?;
        here(args, &settings, sources)?
    };
    match &args.out {
        None => outln!("{request}"),
        Some(file) => {
            fs::write(file, format!("{request}\n")).map_err(|error| {
                Failure::new(Exit::Failed, format!("{} cannot be written: {error}", file.display()))
            })?;
            outln!("request  {}", file.display());
            outln!("At the owner's: raspi-mcp fleet sign DIR {} --out answer.json", file.display());
            outln!("Then here:      raspi-mcp fleet join answer.json");
        }
    }
    Ok(())
}

fn here(args: &EnrollArgs, settings: &Settings, sources: &sources::Args) -> Result<String, Failure> {
    let files = MembershipFiles::of(&sources.site()?);
    let public_key = base64url::encode(&files.make_key()?);
    // Without TLS the console cannot call this device; it can be seen all the same.
    let chain = settings.tls.enabled.then(|| shown::chain(&settings.tls.certificate)).transpose();
    let pin = chain.map_err(ToolError::unavailable)?.map(|chain| Fingerprint::of(&chain[0]).to_string());
    let socket = sources::reach(&settings.places.agent_socket, |places| places.agent_socket.clone());
    let agent = AgentLink::Socket(Client::new(&socket));
    let wish = MembershipWish { name: args.name.clone(), public_key, pin };
    Ok(runtime()?.block_on(agent.call::<SignEnrolment>(wish))?.request)
}

/// Takes the owner's answer.
pub fn join(args: &JoinArgs, sources: &sources::Args) -> Result<(), Failure> {
    let file = args.answer.display();
    let text = fs::read_to_string(&args.answer)
        .map_err(|error| Failure::new(Exit::Usage, format!("{file} cannot be read: {error}")))?;
    let membership: Membership = serde_json::from_str(&text)
        .map_err(|error| ToolError::invalid(format!("{file} is no answer of a fleet's owner: {error}")))?;
    membership.check()?;
    if args.device.url.is_some() {
        return order::send(&args.device, "join_fleet", &json!(membership));
    }
    MembershipFiles::of(&sources.site()?).join(&membership)?;
    outln!("{} belongs to the fleet {} from the next start on:", membership.device, membership.fleet);
    outln!("systemctl restart raspi-mcp-agent raspi-mcp");
    allow::other_release(&sources.settings(&Registry::new(crate::tools::NAMESPACES), Vec::new())?, &agent::FLEET)
}
