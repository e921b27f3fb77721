//! `raspi-mcp allow` and `raspi-mcp revoke`, at the machine or signed from elsewhere

use super::say::outln;
use super::{
    exit::{Exit, Failure},
    order::{self, Device},
    sources, target,
};
use crate::{
    claim::uri::device_id,
    owner::grants::{self, meta},
    registry::Registry,
};
use agent::{AgentLink, Client, GRANTS, NewSetting, operations::update::GetUpdateStatus, other_release_warning};
use base::os::{Root, groups};
use contract::{
    config::{Grant, Places, Settings, Sources, load},
    meta::Declaration,
};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// List all grants: for whom, by whom and when
    #[arg(long, conflicts_with_all = ["tool", "what", "path", "callers", "ask"])]
    list: bool,
    /// The tool, e.g. gpio.write_pin
    #[arg(required_unless_present = "list")]
    tool: Option<String>,
    #[command(flatten)]
    what: What,
    /// Require a person's approval for every call (raspi-mcp approve)
    #[arg(long)]
    ask: bool,
}

#[derive(clap::Args)]
pub struct RevokeArgs {
    /// The tool, e.g. gpio.write_pin. Without other options, all its grants are revoked
    tool: String,
    #[command(flatten)]
    what: What,
}

/// What of a tool is meant, and on which device.
#[derive(clap::Args)]
struct What {
    /// What the tool may access: a service for service.*, a camera for camera.*, a pin for gpio.*, a device for i2c.*, spi.* (spidev0.1) and serial.* (ttyUSB0), a folder for files.*, a bus for i2c.scan_bus
    #[arg(value_name = "NAME")]
    what: Vec<String>,
    /// A pin, by its Broadcom (BCM) number; may be repeated. With --url also the fingerprint of that device's certificate (sha256:...)
    #[arg(long, value_name = "N", value_parser = pin)]
    pin: Vec<String>,
    /// An I2C device or a range of devices, like 1:0x48 or 1:0x50-0x57; may be repeated. With --url also that device's ID (64 digits)
    #[arg(long, value_name = "BUS:ADDRESS")]
    device: Vec<String>,
    /// A folder for files.*, by its full path, including its subfolders; may be repeated
    #[arg(long, value_name = "FOLDER")]
    path: Vec<String>,
    /// Only for this caller, whatever its role: the name of a token or user, or the caller's name in the audit (token:NAME, loopback, stdio, uid:1000, jwt:NAME); may be repeated
    #[arg(long = "for", value_name = "NAME")]
    callers: Vec<String>,
    /// The address of a device in the network, e.g. https://pi.local:8765; default: this device
    #[arg(long, requires_all = ["key", "device"])]
    url: Option<String>,
    /// Your secret key, from `raspi-mcp approver key`
    #[arg(long, value_name = "FILE", requires = "url")]
    key: Option<PathBuf>,
}

/// A pin or a fingerprint: neither can be taken for the other.
fn pin(text: &str) -> Result<String, String> {
    match text.parse::<u8>() {
        Ok(2..=27) => Ok(text.to_owned()),
        Ok(_) => Err("a pin is its Broadcom number, 2 to 27".into()),
        Err(_) => target::pin(text).map(|_| text.to_owned()),
    }
}

impl What {
    /// The device in the network, if one is named.
    fn elsewhere(&self) -> Result<Option<Device>, Failure> {
        let fingerprints: Vec<_> = self.pin.iter().filter_map(|pin| target::pin(pin).ok()).collect();
        let ids: Vec<_> = self.device.iter().filter(|device| device_id(device).is_some()).collect();
        let usage = |why: &str| Err(Failure::new(Exit::Usage, why));
        if self.url.is_none() {
            return match (fingerprints.is_empty(), ids.is_empty()) {
                (true, true) => Ok(None),
                _ => usage("a fingerprint and a device's ID are for --url"),
            };
        }
        if fingerprints.len() > 1 || ids.len() != 1 {
            return usage("--url needs one --device with that device's ID, and takes one fingerprint as --pin");
        }
        let (pin, device) = (fingerprints.first().copied(), ids.first().map(|id| (*id).clone()));
        Ok(Some(Device { url: self.url.clone(), pin, key: self.key.clone(), device }))
    }

    /// The grant for the named things, sorted into the lists of the tool's namespace.
    fn grant(&self, meta: &Declaration<'_>) -> Result<Grant, Failure> {
        let usage = |why: String| Failure::new(Exit::Usage, why);
        let mut grant = Grant {
            tool: meta.name.into(),
            pins: self.pin.iter().filter_map(|pin| pin.parse().ok()).collect(),
            devices: self.device.iter().filter(|device| device_id(device).is_none()).cloned().collect(),
            paths: self.path.clone(),
            callers: self.callers.clone(),
            ..Grant::default()
        };
        for name in &self.what {
            match meta.namespace() {
                "gpio" => match name.parse() {
                    Ok(pin @ 2..=27) => drop(grant.pins.insert(pin)),
                    _ => return Err(usage(format!("{name} is no pin: name it by its Broadcom number, 2 to 27"))),
                },
                "service" => grant.units.push(name.clone()),
                "camera" => grant.cameras.push(name.clone()),
                "i2c" if meta.name == "i2c.scan_bus" && name.parse::<u32>().is_ok() => {
                    grant.devices.push(format!("{name}:0x08-0x77"));
                }
                "i2c" | "spi" | "serial" => grant.devices.push(name.clone()),
                "files" => grant.paths.push(name.clone()),
                namespace => {
                    return Err(usage(format!(
                        "{name}: {namespace}.* is not opened for single things here; see docs/allow.md"
                    )));
                }
            }
        }
        Ok(grant)
    }
}

pub fn run(args: &Args, sources: &sources::Args) -> Result<(), Failure> {
    let device = args.what.elsewhere()?;
    let Some(tool) = &args.tool else {
        return match device {
            Some(device) => order::send(&device, "list_grants", &json!({})),
            None => said(&grants::list(&gathered(sources)?)?),
        };
    };
    let grant = args.what.grant(&meta(tool)?)?;
    if let Some(device) = device {
        let mut order = grants::args(&grant);
        if args.ask {
            order["ask"] = true.into();
        }
        return order::send(&device, "allow", &order);
    }
    let sources = gathered(sources)?;
    owns(&sources)?;
    said(&grants::open(grant, args.ask, whoever(), &sources)?)?;
    other_release(&load(&sources)?, &GRANTS)
}

pub fn revoke(args: &RevokeArgs, sources: &sources::Args) -> Result<(), Failure> {
    let grant = args.what.grant(&meta(&args.tool)?)?;
    if let Some(device) = args.what.elsewhere()? {
        return order::send(&device, "revoke", &grants::args(&grant));
    }
    let sources = gathered(sources)?;
    owns(&sources)?;
    said(&grants::close(grant, &sources)?)
}

fn said(done: &Value) -> Result<(), Failure> {
    outln!("{}", done["text"].as_str().unwrap_or_default());
    Ok(())
}

fn gathered(sources: &sources::Args) -> Result<Sources, Failure> {
    let gathered = sources.gather(&Registry::new(crate::tools::NAMESPACES), Vec::new())?;
    if let Some(file) = &gathered.file {
        let why = format!(
            "--config {} is read in place of the folder that this command writes to; leave it out",
            file.display()
        );
        return Err(Failure::new(Exit::Usage, why));
    }
    Ok(gathered)
}

/// Fails if a user's own folder would be changed although the machine's service runs.
fn owns(sources: &Sources) -> Result<(), Failure> {
    let service = Places::system();
    let no_server_of_ones_own =
        !sources.places.runtime_dir.join("mcp.sock").exists() && !sources.places.agent_socket.exists();
    if sources.places.policy_owner.is_none() && no_server_of_ones_own && service.agent_socket.exists() {
        let why = "raspi-mcp is a service of this machine, and root opens its tools\n  run it with sudo";
        return Err(Failure::new(Exit::Refused, why));
    }
    Ok(())
}

/// The user who runs this, also behind sudo.
fn whoever() -> String {
    let uid = rustix::process::getuid();
    let name = groups::user_name(&Root::system(), uid.as_raw()).unwrap_or_else(|| format!("uid {}", uid.as_raw()));
    let behind = std::env::var("SUDO_USER").ok().filter(|_| uid.is_root());
    let who = behind.filter(|who| who.len() <= 64 && !who.contains(char::is_control));
    who.map_or(name, |who| format!("{who} (sudo)"))
}

/// Warns if the release in the other slot reads the same files and does not support this setting.
pub(super) fn other_release(settings: &Settings, setting: &NewSetting) -> Result<(), Failure> {
    let link = AgentLink::Socket(Client::new(&settings.places.agent_socket));
    let status = super::runtime()?.block_on(link.get::<GetUpdateStatus>());
    // Without slots there is no other release, and without an agent the setting has no effect yet.
    let warned = status.ok().filter(|status| !status.simulated);
    if let Some(warning) =
        warned.and_then(|status| other_release_warning(&status, &settings.places.agent_state_dir, setting))
    {
        outln!("{warning}");
    }
    Ok(())
}
