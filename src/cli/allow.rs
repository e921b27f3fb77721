//! `raspi-mcp allow` and `raspi-mcp revoke`

use super::say::outln;
use super::{
    exit::{Exit, Failure},
    sources,
};
use crate::{
    allow::{AppliedGrant, GrantAction, GrantChange, all, perform, warning},
    registry::{Registry, row::ToolRow},
};
use agent::{AgentLink, Client, operations::update::GetUpdateStatus};
use base::{
    clock,
    os::{Root, groups, systemd::ServiceName},
};
use contract::{
    config::{Grant, Places, SERVER_USER, Settings, Sources, is_caller, load},
    meta::{Declaration, Meta, Mode},
};
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// List all grants: for whom, by whom and when
    #[arg(long, conflicts_with_all = ["tool", "what", "ask"])]
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

/// What of a tool is meant.
#[derive(clap::Args)]
struct What {
    /// What the tool may access: a service for service.*, a camera for camera.*, a pin for gpio.*, a device for i2c.*, a folder for files.*, a bus for i2c.scan_bus
    #[arg(value_name = "NAME")]
    what: Vec<String>,
    /// A pin, by its Broadcom (BCM) number; may be repeated
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(2..=27))]
    pin: Vec<u8>,
    /// An I2C device or a range of devices, like 1:0x48 or 1:0x50-0x57; may be repeated
    #[arg(long, value_name = "BUS:ADDRESS")]
    device: Vec<String>,
    /// A folder for files.*, by its full path, including its subfolders; may be repeated
    #[arg(long, value_name = "FOLDER")]
    path: Vec<String>,
    /// Only for this caller, whatever its role: the name of a token or user, or the caller's name in the audit (token:NAME, loopback, stdio, uid:1000, jwt:NAME); may be repeated
    #[arg(long = "for", value_name = "NAME")]
    callers: Vec<String>,
}

pub fn run(args: &Args, sources: &sources::Args) -> Result<(), Failure> {
    let registry = Registry::new(crate::tools::NAMESPACES);
    let sources = gathered(sources, &registry)?;
    let Some(tool) = &args.tool else { return list(&sources) };
    owns(&sources)?;
    let meta = meta(&registry, tool)?;
    let settings = load(&sources)?;
    let grant = Grant { by: whoever(), at: clock::now(), ..grant(meta, &args.what, &settings)? };
    let reach = reach(&grant);
    let change = GrantChange { grant, policy: None };
    let AppliedGrant { path, mode, set_aside, .. } =
        perform(&change, GrantAction::Open { ask: args.ask }, meta, &sources)?;
    let whom = match change.grant.callers.as_slice() {
        [] => format!("callers with role {}", meta.role.name()),
        callers => callers.join(", "),
    };
    let on = if reach.is_empty() { "" } else { ", on " };
    outln!("{} is open for {whom}{on}{reach}; {}", meta.name, when(&set_aside));
    if mode == Mode::Ask {
        outln!("a person has to approve each call: raspi-mcp approve");
    }
    outln!("written: {}", path.display());
    if reach.is_empty() && ["gpio", "i2c", "service", "camera", "files"].contains(&meta.namespace()) {
        outln!("no pin, device, service, camera or folder was named: it reaches those that the configuration lists");
    }
    if let Some(folder) = change.grant.paths.first().filter(|_| sources.places.policy_owner.is_some()) {
        outln!("{}", of_the_service(folder, meta.effect.is_write()));
    }
    other_release(&settings)
}

pub fn revoke(args: &RevokeArgs, sources: &sources::Args) -> Result<(), Failure> {
    let registry = Registry::new(crate::tools::NAMESPACES);
    let sources = gathered(sources, &registry)?;
    owns(&sources)?;
    let meta = meta(&registry, &args.tool)?;
    let settings = load(&sources)?;
    let change = GrantChange { grant: grant(meta, &args.what, &settings)?, policy: None };
    let AppliedGrant { path, policy, set_aside, .. } = perform(&change, GrantAction::Close, meta, &sources)?;
    outln!("closed; {}", when(&set_aside));
    outln!("written: {}", path.display());
    if policy.enabled.contains(meta.namespace()) {
        outln!(
            "{} itself stays on for callers with role {}: tools.enable has {}",
            meta.name,
            meta.role.name(),
            meta.namespace()
        );
    }
    Ok(())
}

/// When the change takes effect. A running server or agent ignores the new configuration while a part of it is set
/// aside.
fn when(set_aside: &[String]) -> String {
    match set_aside.first() {
        None => "it counts at once".into(),
        Some(reason) => format!(
            "it does not count yet: part of the configuration is not understood, and what runs keeps what it had until that is mended \
             (or until it is restarted)\n  {reason}"
        ),
    }
}

fn gathered(sources: &sources::Args, registry: &Registry) -> Result<Sources, Failure> {
    let gathered = sources.gather(registry, Vec::new())?;
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

fn meta(registry: &Registry, tool: &str) -> Result<&'static Meta, Failure> {
    match registry.resolve(tool) {
        Ok((entry, _)) => Ok(entry.row().expect("this registry has only rows").meta),
        Err(_) => {
            let near = contract::config::nearest(tool, registry.rows().map(ToolRow::name));
            let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            Err(Failure::new(Exit::Usage, format!("there is no tool {tool}{near}\n  raspi-mcp tools lists them")))
        }
    }
}

/// The grant for the named things, sorted into the lists of the tool's namespace.
fn grant(meta: &Declaration<'_>, what: &What, settings: &Settings) -> Result<Grant, Failure> {
    let usage = |why: String| Failure::new(Exit::Usage, why);
    let mut grant = Grant {
        tool: meta.name.into(),
        pins: what.pin.iter().copied().collect(),
        devices: what.device.clone(),
        paths: what.path.iter().map(|path| folder(path)).collect(),
        ..Grant::default()
    };
    for name in &what.what {
        match meta.namespace() {
            "gpio" => match name.parse() {
                Ok(pin @ 2..=27) => drop(grant.pins.insert(pin)),
                _ => return Err(usage(format!("{name} is no pin: name it by its Broadcom number, 2 to 27"))),
            },
            "service" if name.contains(['*', '?']) => grant.units.push(name.clone()),
            "service" => grant.units.push(ServiceName::parse(name)?.as_str().to_owned()),
            "camera" => grant.cameras.push(name.clone()),
            "i2c" if meta.name == "i2c.scan_bus" && name.parse::<u32>().is_ok() => {
                grant.devices.push(format!("{name}:0x08-0x77"));
            }
            "i2c" => grant.devices.push(name.clone()),
            "files" => grant.paths.push(folder(name)),
            namespace => {
                return Err(usage(format!(
                    "{name}: {namespace}.* is not opened for single things here; see docs/allow.md"
                )));
            }
        }
    }
    let kinds = [("gpio", grant.pins.is_empty()), ("i2c", grant.devices.is_empty()), ("files", grant.paths.is_empty())];
    if kinds.into_iter().any(|(namespace, none)| !none && meta.namespace() != namespace) {
        return Err(usage(format!(
            "--pin is for gpio.*, --device for i2c.*, --path for files.*, not for {}",
            meta.name
        )));
    }
    for name in &what.callers {
        grant.callers.push(caller(name, settings)?);
    }
    Ok(grant)
}

/// A path in its simplest form: "/srv/notes/" is "/srv/notes".
fn folder(text: &str) -> String {
    let plain: PathBuf = Path::new(text).components().collect();
    plain.to_string_lossy().into_owned()
}

/// What the service needs besides the grant to access a folder.
fn of_the_service(folder: &str, writes: bool) -> String {
    let user = SERVER_USER;
    if writes {
        return format!(
            "the service writes only where its unit lets it: systemctl edit raspi-mcp, add [Service] and ReadWritePaths={folder}, \
             restart it; and {user} needs the right to write there (raspi-mcp doctor looks at both)"
        );
    }
    format!("{user} needs the right to read there (raspi-mcp doctor looks at it)")
}

/// Finds the caller by the name of a token or user.
fn caller(name: &str, settings: &Settings) -> Result<String, Failure> {
    if is_caller(name) {
        return Ok(name.to_owned());
    }
    let tokens: Vec<&str> = settings.access.tokens.iter().map(|token| token.name.as_str()).collect();
    if tokens.contains(&name) {
        return Ok(format!("token:{name}"));
    }
    if let Some(uid) = groups::user_id(&Root::system(), name) {
        return Ok(format!("uid:{uid}"));
    }
    let tokens = if tokens.is_empty() { "none".to_owned() } else { tokens.join(", ") };
    let why = format!(
        "no token and no user is called {name} (tokens: {tokens})\n  callers are also named as the audit does: token:NAME, \
         jwt:NAME, uid:1000, loopback, stdio"
    );
    Err(Failure::new(Exit::Usage, why))
}

/// The user who runs this, also behind sudo.
fn whoever() -> String {
    let uid = rustix::process::getuid();
    let name = groups::user_name(&Root::system(), uid.as_raw()).unwrap_or_else(|| format!("uid {}", uid.as_raw()));
    let behind = std::env::var("SUDO_USER").ok().filter(|_| uid.is_root());
    let who = behind.filter(|who| who.len() <= 64 && !who.contains(char::is_control));
    who.map_or(name, |who| format!("{who} (sudo)"))
}

/// The things that a grant opens, for people.
fn reach(grant: &Grant) -> String {
    let pins = grant.pins.iter().map(|pin| format!("GPIO {pin}"));
    let others = [&grant.units, &grant.cameras, &grant.devices, &grant.paths].into_iter().flatten().cloned();
    pins.chain(others).collect::<Vec<_>>().join(", ")
}

fn list(sources: &Sources) -> Result<(), Failure> {
    let all = all(sources)?;
    if all.is_empty() {
        outln!("nothing was opened by raspi-mcp allow");
    }
    for kept in &all {
        for grant in &kept.grants {
            let whom =
                if grant.callers.is_empty() { "whoever has the role".to_owned() } else { grant.callers.join(", ") };
            let mode = kept
                .policy
                .get(&grant.tool)
                .map(|mode| format!("  policy {}", json!(mode).as_str().unwrap_or_default()));
            let (reach, mode) = (reach(grant), mode.unwrap_or_default());
            outln!("{:<28} for {whom}  {reach}{mode}  by {} at {}", grant.tool, grant.by, grant.at);
        }
    }
    Ok(())
}

/// Warns if the release in the other slot reads the same files and does not support grants.
fn other_release(settings: &Settings) -> Result<(), Failure> {
    let link = AgentLink::Socket(Client::new(&settings.places.agent_socket));
    let status = super::runtime()?.block_on(link.get::<GetUpdateStatus>());
    // Without slots there is no other release, and without an agent the grant has no effect yet.
    let warned = status.ok().filter(|status| !status.simulated);
    if let Some(warning) = warned.and_then(|status| warning(&status, &settings.places.agent_state_dir)) {
        outln!("{warning}");
    }
    Ok(())
}
