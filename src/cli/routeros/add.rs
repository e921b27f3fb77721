//! `raspi-mcp routeros add`

use super::{password, test};
use crate::{
    cli::{
        approve::{Keyboard, Terminal},
        exit::{Exit, Failure},
        say::{errln, outln},
        target,
    },
    client::Trust,
    owner::routers,
    routeros::{Device, RouterClient, configured, presented::presented},
};
use appliance::certificate::Fingerprint;
use base::dns_label::is_label;
use contract::{
    config::{
        RouterSetting, Sources,
        sections::routeros::{is_address, is_tag_value},
    },
    meta::Environment,
};
use std::{
    io::{self, IsTerminal},
    path::PathBuf,
};

#[derive(clap::Args)]
pub struct Args {
    /// The router's name for tools (device_id): a-z, 0-9 and "-"
    name: String,
    /// Host and port of the router's HTTPS (www-ssl); port 443 if it is left out
    #[arg(long)]
    address: String,
    /// The router's user for this machine
    #[arg(long, default_value = "raspi-mcp")]
    user: String,
    /// The fingerprint of the router's certificate (sha256:...); without it, the certificate is shown and you are asked
    #[arg(long, value_name = "PIN", value_parser = target::pin, conflicts_with = "ca")]
    pin: Option<Fingerprint>,
    /// A PEM file of the authorities that sign the router's certificate, in place of a fingerprint
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// lab, staging or prod
    #[arg(long, value_parser = environment, default_value = "prod")]
    environment: Environment,
    /// A tag like site=attic; may be repeated
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = tag)]
    tags: Vec<(String, String)>,
    /// Let tools of the advanced tier change this router
    #[arg(long)]
    allow_advanced: bool,
    /// Let approved plans be applied to this router
    #[arg(long)]
    allow_professional: bool,
    /// A file with the password, or - for standard input; without it, you are asked
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

fn environment(text: &str) -> Result<Environment, String> {
    serde_json::from_value(text.into()).map_err(|_| "it is lab, staging or prod".into())
}

fn tag(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').filter(|(_, value)| is_tag_value(value)).ok_or("write KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

pub fn run(args: Args, sources: &Sources) -> Result<(), Failure> {
    let usage = |why: String| Failure::new(Exit::Usage, why);
    if !is_label(&args.name) {
        return Err(usage(format!(
            "{:?} is no name: 1 to 63 of a-z, 0-9 and \"-\", with no \"-\" at either end",
            args.name
        )));
    }
    routers::is_new(&args.name, sources)?;
    let address = if is_address(&args.address) { args.address.clone() } else { format!("{}:443", args.address) };
    if !is_address(&address) {
        return Err(usage(format!("{:?} is no address: write it like 192.168.88.1:443", args.address)));
    }
    let runtime = crate::cli::runtime()?;
    let pin = match (args.pin, &args.ca) {
        (Some(pin), _) => Some(pin),
        (None, Some(_)) => None,
        (None, None) => Some(confirmed(runtime.block_on(presented(&address))?, &address)?),
    };
    let router = RouterSetting {
        pin: pin.map(|pin| pin.to_string()),
        ca: args.ca.map(std::path::absolute).transpose().map_err(|error| usage(format!("--ca: {error}")))?,
        password_file: routers::password_file(&args.name, sources),
        name: args.name,
        address,
        user: args.user,
        environment: args.environment,
        tags: args.tags.into_iter().collect(),
        allow_advanced: args.allow_advanced,
        allow_professional: args.allow_professional,
    };
    let trust = pin.map_or_else(|| configured::trust(&router), |pin| Ok(Trust::Pin(pin)))?;
    let password = password::of(args.password_file.as_deref(), &router.user)?;
    let (id, address, user) = (router.name.clone(), router.address.clone(), router.user.clone());
    let client = RouterClient::new(Device { id, address, trust, user, password: password.clone() })?;
    runtime.block_on(test::answers(&client))?;
    let file = routers::add(&router, &password, sources)?;
    outln!("written: {} and {}, which has the password", file.display(), router.password_file.display());
    outln!("it is used after: {}", routers::RESTART);
    Ok(())
}

/// A person compares the fingerprint with what the router itself shows.
fn confirmed(pin: Fingerprint, address: &str) -> Result<Fingerprint, Failure> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(Failure::new(
            Exit::Refused,
            format!(
                "{address} presents the certificate {pin}\n  compare it with the router's own, then give it as --pin; on a terminal you are asked"
            ),
        ));
    }
    errln!(
        "{address} presents the certificate\n  {pin}\nCompare it with what the router itself shows: /certificate print detail, fingerprint."
    );
    errln!("Is it the same? Type yes:");
    let failed = |error: io::Error| Failure::new(Exit::Failed, format!("cannot read the answer: {error}"));
    // Only what is typed after the question.
    Terminal.forget().map_err(failed)?;
    match Terminal.line().map_err(failed)?.trim() {
        "yes" => Ok(pin),
        _ => Err(Failure::new(Exit::Refused, "nothing was added")),
    }
}
