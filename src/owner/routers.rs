//! Routers in the site's folder: `raspi-mcp routeros add`, `list` and `remove`. Each has a fragment and a password file.

use super::misconfigured;
use crate::routeros::{device::Secret, link};
use base::{error::ToolError, os::whole};
use contract::config::{self, RouterSetting, Sources, nearest};
use serde_json::{Value, json};
use std::{
    fs::{self, DirBuilder},
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

/// What has to be started again after a change, in this order.
pub const RESTART: &str = "systemctl restart raspi-mcp-agent raspi-mcp-routeros raspi-mcp";

/// The fragment of a router that was added by [`add`].
fn fragment(name: &str, sources: &Sources) -> PathBuf {
    sources.places.site_dir.join(format!("60-router-{name}.toml"))
}

/// The file of its password, in the folder that the unit is given.
pub fn password_file(name: &str, sources: &Sources) -> PathBuf {
    sources.places.site_dir.join("routeros").join(name)
}

/// The configured routers.
///
/// # Errors
/// A configuration that cannot be read.
pub fn all(sources: &Sources) -> Result<Vec<RouterSetting>, ToolError> {
    config::load(sources).map(|settings| settings.routeros).map_err(|faults| misconfigured(&faults))
}

/// The socket of the routers' process.
///
/// # Errors
/// A configuration that cannot be read.
pub fn socket(sources: &Sources) -> Result<PathBuf, ToolError> {
    config::load(sources).map(|settings| link::socket(&settings.places)).map_err(|faults| misconfigured(&faults))
}

/// The router of this name.
///
/// # Errors
/// `not_found`, with the name that may have been meant.
pub fn find(name: &str, sources: &Sources) -> Result<RouterSetting, ToolError> {
    let all = all(sources)?;
    let near = nearest(name, all.iter().map(|router| router.name.as_str()));
    let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    all.iter().find(|router| router.name == name).cloned().ok_or_else(|| {
        ToolError::not_found(format!("no router named {name:?} is configured{near}"))
            .hint("`raspi-mcp routeros list` shows all of them")
    })
}

/// Writes a router's fragment and its password.
///
/// # Errors
/// A taken name, a configuration that would not be read, a folder that cannot be written: then nothing was added.
pub fn add(router: &RouterSetting, password: &Secret, sources: &Sources) -> Result<PathBuf, ToolError> {
    is_new(&router.name, sources)?;
    let file = fragment(&router.name, sources);
    let folder = |path: &Path, mode| match path.parent() {
        Some(folder) => DirBuilder::new().recursive(true).mode(mode).create(folder),
        None => Ok(()),
    };
    let put = || {
        folder(&file, 0o755)?;
        folder(&router.password_file, 0o700)?;
        whole::replace(&router.password_file, 0o600, |new| writeln!(new, "{}", password.expose()))?;
        whole::replace(&file, 0o644, |new| new.write_all(lines(router).as_bytes()))
    };
    let written = put().map_err(|error| unwritten(&error, "be added"));
    // Read as the processes do; what is not read is taken away again.
    let counts = written.and_then(|()| find(&router.name, sources).map(drop));
    if let Err(error) = counts {
        let _ = (whole::remove(&file), whole::remove(&router.password_file));
        let message = format!("the router was not added: {}", error.message);
        return Err(error.with_message(message));
    }
    Ok(file)
}

/// # Errors
/// `failed_precondition` for a name that is taken.
pub fn is_new(name: &str, sources: &Sources) -> Result<(), ToolError> {
    if all(sources)?.iter().all(|router| router.name != name) {
        return Ok(());
    }
    Err(ToolError::precondition(format!("there is a router named {name} already"))
        .hint(format!("`raspi-mcp routeros remove {name}` removes it")))
}

/// Removes a router that was added by [`add`], and its password.
///
/// # Errors
/// `not_found`; `failed_precondition` for one that is configured in another file.
pub fn remove(name: &str, sources: &Sources) -> Result<(), ToolError> {
    let router = find(name, sources)?;
    let file = fragment(name, sources);
    if !file.is_file() {
        return Err(ToolError::precondition(format!("the router {name} was not added by `raspi-mcp routeros add`"))
            .hint("take its [[routeros]] out of the file that has it; `raspi-mcp doctor` names the files"));
    }
    fs::remove_file(&file).map_err(|error| unwritten(&error, "be removed"))?;
    // Only in the folder that is ours: the owner may have put it elsewhere.
    if router.password_file == password_file(name, sources) {
        whole::remove(&router.password_file).map_err(|error| unwritten(&error, "be removed"))?;
    }
    Ok(())
}

/// The routers as they may be shown: no password, and the file that has it.
pub fn shown(routers: &[RouterSetting]) -> Value {
    json!({ "routers": routers })
}

fn unwritten(error: &io::Error, verb: &str) -> ToolError {
    let message = format!("the router cannot {verb}: {error}");
    match error.kind() {
        io::ErrorKind::PermissionDenied => ToolError::denied(message).hint("do it as root"),
        _ => ToolError::unavailable(message).hint("look at the file system and its free space, then try again"),
    }
}

/// The fragment. Texts are written as JSON, which TOML reads as the same.
fn lines(router: &RouterSetting) -> String {
    let mut text = "# Written by raspi-mcp routeros add.\n[[routeros]]\n".to_owned();
    let mut line = |name: &str, value: Value| text.push_str(&format!("{name} = {value}\n"));
    line("name", json!(router.name));
    line("address", json!(router.address));
    if let Some(pin) = &router.pin {
        line("pin", json!(pin));
    }
    if let Some(ca) = &router.ca {
        line("ca", json!(ca));
    }
    line("user", json!(router.user));
    line("password_file", json!(router.password_file));
    line("environment", json!(router.environment));
    line("allow_advanced", json!(router.allow_advanced));
    line("allow_professional", json!(router.allow_professional));
    let tags: Vec<String> = router.tags.iter().map(|(tag, value)| format!("{tag} = {}", json!(value))).collect();
    if !tags.is_empty() {
        text.push_str(&format!("tags = {{ {} }}\n", tags.join(", ")));
    }
    text
}
