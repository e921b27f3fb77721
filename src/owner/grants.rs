//! Opens and closes single tools: `raspi-mcp allow` and `revoke`, and the orders of the same names.

use super::{misconfigured, unreadable};
use crate::{
    allow::{AppliedGrant, GrantAction, GrantChange, all, perform},
    registry::{Registry, row::ToolRow},
    tools,
};
use base::{
    clock,
    error::ToolError,
    os::{Root, groups, systemd::ServiceName},
};
use contract::{
    config::{Grant, SERVER_USER, Settings, Sources, is_caller, is_device_file, load, nearest},
    meta::{Meta, Mode},
};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The arguments of the orders.
pub(super) const ALLOW_ARGS: &[&str] = &["tool", "pins", "units", "cameras", "devices", "paths", "callers", "ask"];
pub(super) const REVOKE_ARGS: &[&str] = &["tool", "pins", "units", "cameras", "devices", "paths", "callers"];

/// The declaration of a tool.
///
/// # Errors
/// `invalid_argument` naming the tool that may have been meant.
pub fn meta(tool: &str) -> Result<Meta, ToolError> {
    if let Some(meta) = tools::for_routers().find(|meta| meta.name == tool) {
        return Ok(meta);
    }
    let registry = Registry::new(crate::tools::NAMESPACES);
    let found = registry.resolve(tool).ok().and_then(|(entry, _)| entry.row().map(|row| *row.meta));
    found.ok_or_else(|| {
        let near = nearest(tool, registry.rows().map(ToolRow::name));
        let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        ToolError::invalid(format!("there is no tool {tool}{near}")).hint("raspi-mcp tools lists them")
    })
}

/// Opens a tool. Callers may be names of tokens or users.
///
/// # Errors
/// Those of [`perform`]; `invalid_argument` for a thing or caller that does not exist. Then nothing has changed.
pub fn open(grant: Grant, ask: bool, by: String, sources: &Sources) -> Result<Value, ToolError> {
    let (change, meta) = change(grant, sources)?;
    let change = GrantChange { grant: Grant { by, at: clock::now(), ..change }, policy: None };
    let AppliedGrant { path, mode, set_aside, .. } = perform(&change, GrantAction::Open { ask }, &meta, sources)?;
    let reach = reach(&change.grant);
    let whom = match change.grant.callers.as_slice() {
        [] => format!("callers with role {}", meta.role.name()),
        callers => callers.join(", "),
    };
    let on = if reach.is_empty() { "" } else { ", on " };
    let mut lines = vec![format!("{} is open for {whom}{on}{reach}; {}", meta.name, when(&set_aside))];
    if mode == Mode::Ask {
        lines.push("a person has to approve each call: raspi-mcp approve".into());
    }
    lines.push(format!("written: {}", path.display()));
    if reach.is_empty() && ["gpio", "i2c", "spi", "serial", "service", "camera", "files"].contains(&meta.namespace()) {
        lines.push(
            "no pin, device, service, camera or folder was named: it reaches those that the configuration lists".into(),
        );
    }
    if let Some(folder) = change.grant.paths.first().filter(|_| sources.places.policy_owner.is_some()) {
        lines.push(of_the_service(folder, meta.effect.is_write()));
    }
    Ok(json!({ "text": lines.join("\n"), "in_force": set_aside.is_empty() }))
}

/// Closes a tool, or a part of what it may reach.
///
/// # Errors
/// As [`open`]; `not_found` if there is nothing to close.
pub fn close(grant: Grant, sources: &Sources) -> Result<Value, ToolError> {
    let (grant, meta) = change(grant, sources)?;
    let change = GrantChange { grant, policy: None };
    let AppliedGrant { path, policy, set_aside, .. } = perform(&change, GrantAction::Close, &meta, sources)?;
    let mut text = format!("closed; {}\nwritten: {}", when(&set_aside), path.display());
    if policy.enabled.contains(meta.namespace()) {
        let (name, role, namespace) = (meta.name, meta.role.name(), meta.namespace());
        text.push_str(&format!("\n{name} itself stays on for callers with role {role}: tools.enable has {namespace}"));
    }
    Ok(json!({ "text": text, "in_force": set_aside.is_empty() }))
}

/// Every grant that was opened so.
///
/// # Errors
/// A configuration that cannot be read.
pub fn list(sources: &Sources) -> Result<Value, ToolError> {
    let all = all(sources).map_err(|faults| misconfigured(&faults))?;
    let (mut lines, mut grants) = (Vec::new(), Vec::new());
    for kept in &all {
        for grant in &kept.grants {
            let whom =
                if grant.callers.is_empty() { "whoever has the role".to_owned() } else { grant.callers.join(", ") };
            let policy = json!(kept.policy.get(&grant.tool));
            let mode = policy.as_str().map(|mode| format!("  policy {mode}")).unwrap_or_default();
            let reach = reach(grant);
            lines.push(format!("{:<28} for {whom}  {reach}{mode}  by {} at {}", grant.tool, grant.by, grant.at));
            let mut shown = json!(grant);
            if let Some(callers) = shown.as_object_mut().and_then(|fields| fields.remove("for")) {
                shown["callers"] = callers;
            }
            if !policy.is_null() {
                shown["policy"] = policy;
            }
            grants.push(shown);
        }
    }
    if lines.is_empty() {
        lines.push("nothing was opened by raspi-mcp allow".into());
    }
    Ok(json!({ "text": lines.join("\n"), "grants": grants }))
}

pub(super) fn ordered_open(sources: &Sources, mut args: Map<String, Value>, by: &str) -> Result<Value, ToolError> {
    let ask = match args.remove("ask") {
        None => false,
        Some(ask) => serde_json::from_value(ask).map_err(|error| unreadable(&error))?,
    };
    open(granted(args)?, ask, format!("{by} (signed)"), sources)
}

pub(super) fn ordered_close(sources: &Sources, args: Map<String, Value>, _by: &str) -> Result<Value, ToolError> {
    close(granted(args)?, sources)
}

/// The arguments of an order for `grant`.
pub fn args(grant: &Grant) -> Value {
    let mut args = json!(grant);
    if let Some(callers) = args.as_object_mut().and_then(|fields| fields.remove("for")) {
        args["callers"] = callers;
    }
    args
}

fn granted(mut args: Map<String, Value>) -> Result<Grant, ToolError> {
    if let Some(callers) = args.remove("callers") {
        args.insert("for".into(), callers);
    }
    serde_json::from_value(Value::Object(args)).map_err(|error| unreadable(&error))
}

/// The grant with its things and callers as the configuration names them, and its tool.
fn change(mut grant: Grant, sources: &Sources) -> Result<(Grant, Meta), ToolError> {
    let meta = meta(&grant.tool)?;
    let settings = load(sources).map_err(|faults| misconfigured(&faults))?;
    grant.tool = meta.name.into();
    let lists = [
        ("gpio", grant.pins.is_empty()),
        (
            if ["spi", "serial"].contains(&meta.namespace()) { meta.namespace() } else { "i2c" },
            grant.devices.is_empty(),
        ),
        ("files", grant.paths.is_empty()),
        ("service", grant.units.is_empty()),
        ("camera", grant.cameras.is_empty()),
    ];
    if lists.into_iter().any(|(namespace, none)| !none && meta.namespace() != namespace) {
        return Err(ToolError::invalid(format!(
            "pins are for gpio.*, devices for i2c.*, spi.* and serial.*, folders for files.*, services for service.*, cameras for camera.*, not \
             for {}",
            meta.name
        )));
    }
    // The form of a device belongs to its namespace; the configuration accepts both.
    let files = meta.namespace() != "i2c";
    if let Some(device) = grant.devices.iter().find(|device| is_device_file(device) != files) {
        return Err(ToolError::invalid(format!("{device} is no device of {}.*", meta.namespace()))
            .hint("an I2C device is written 1:0x48, an SPI device spidev0.1, a serial port ttyUSB0"));
    }
    for unit in grant.units.iter_mut().filter(|unit| !unit.contains(['*', '?'])) {
        *unit = ServiceName::parse(unit)?.as_str().to_owned();
    }
    grant.paths.iter_mut().for_each(|path| *path = folder(path));
    for name in &mut grant.callers {
        *name = caller(name, &settings)?;
    }
    Ok((grant, meta))
}

/// A path in its simplest form: "/srv/notes/" is "/srv/notes".
fn folder(text: &str) -> String {
    let plain: PathBuf = Path::new(text).components().collect();
    plain.to_string_lossy().into_owned()
}

/// Finds the caller by the name of a token or user.
fn caller(name: &str, settings: &Settings) -> Result<String, ToolError> {
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
    Err(ToolError::invalid(format!("no token and no user is called {name} (tokens: {tokens})"))
        .hint("callers are also named as the audit does: token:NAME, jwt:NAME, uid:1000, loopback, stdio"))
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

/// The things that a grant opens, for people.
fn reach(grant: &Grant) -> String {
    let pins = grant.pins.iter().map(|pin| format!("GPIO {pin}"));
    let others = [&grant.units, &grant.cameras, &grant.devices, &grant.paths].into_iter().flatten().cloned();
    pins.chain(others).collect::<Vec<_>>().join(", ")
}
