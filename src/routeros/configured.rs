//! From the configuration to routers that can be reached: their certificates and passwords.

use super::{
    authority::RootAuthority,
    device::{Device, Secret},
    routers::{Routers, Standing},
    service::RouterService,
};
use crate::client::Trust;
use agent::AgentLink;
use appliance::certificate::Fingerprint;
use base::error::ToolError;
use contract::{config::RouterSetting, meta::Environment};
use reqwest::Certificate;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Longest password, in bytes.
const LONGEST: usize = 1024;
/// systemd names the files of a folder by this word and their names (systemd.exec(5), LoadCredential=).
const CREDENTIAL: &str = "routeros_";

/// Where passwords are.
pub enum Passwords {
    /// In the files that the configuration names.
    Files,
    /// In the folder that systemd fills for the service, `$CREDENTIALS_DIRECTORY`.
    Credentials(PathBuf),
}

impl Passwords {
    /// As systemd passes them, or in their own files.
    pub fn of_process() -> Self {
        std::env::var_os("CREDENTIALS_DIRECTORY").map_or(Self::Files, |folder| Self::Credentials(folder.into()))
    }

    fn file(&self, router: &RouterSetting) -> PathBuf {
        match self {
            Self::Files => router.password_file.clone(),
            Self::Credentials(folder) => {
                let name = router.password_file.file_name().unwrap_or_default().to_string_lossy();
                folder.join(format!("{CREDENTIAL}{name}"))
            }
        }
    }
}

/// The password in a file: its first line.
///
/// # Errors
/// What is wrong with the file, never what is in it.
pub fn password(file: &Path) -> Result<Secret, ToolError> {
    let text = fs::read_to_string(file).map_err(|error| unusable(file, &error.to_string()))?;
    checked(&text).map_err(|why| unusable(file, why))
}

/// Checks that a text is a password: one line of 1 to 1024 bytes.
///
/// # Errors
/// What is wrong with it, without repeating it.
pub fn checked(text: &str) -> Result<Secret, &'static str> {
    let line = text.strip_suffix('\n').unwrap_or(text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.is_empty() || line.len() > LONGEST || line.contains(char::is_control) {
        return Err("it holds no password: one line of 1 to 1024 bytes");
    }
    Ok(Secret::new(line))
}

fn unusable(file: &Path, why: &str) -> ToolError {
    ToolError::precondition(format!("{}: {why}", file.display()))
        .hint("write the password of the router's user there; the file is root's alone")
}

/// Whose certificate is accepted.
///
/// # Errors
/// `failed_precondition` for a file of authorities that cannot be read.
pub fn trust(router: &RouterSetting) -> Result<Trust, ToolError> {
    if let Some(pin) = router.pin.as_deref().and_then(Fingerprint::parse) {
        return Ok(Trust::Pin(pin));
    }
    let file = router.ca.as_deref().unwrap_or(Path::new(""));
    let bad = |why: String| ToolError::precondition(format!("ca {} of {}: {why}", file.display(), router.name));
    let pem = fs::read(file).map_err(|error| bad(error.to_string()))?;
    let authorities = Certificate::from_pem_bundle(&pem).map_err(|error| bad(error.to_string()))?;
    if authorities.is_empty() {
        Err(bad("there is no certificate in it".into()))
    } else {
        Ok(Trust::Authorities(authorities.into()))
    }
}

/// The router as it is reached.
///
/// # Errors
/// Those of [`trust`] and [`password`].
pub fn device(router: &RouterSetting, passwords: &Passwords) -> Result<Device, ToolError> {
    let device = Device {
        id: router.name.clone(),
        address: router.address.clone(),
        trust: trust(router)?,
        user: router.user.clone(),
        password: password(&passwords.file(router))?,
    };
    Ok(device)
}

/// What does the calls, for these routers, on a machine that is used for `environment`. Plans and snapshots are in `folder`; `agent` lets writes through.
///
/// # Errors
/// For a router that cannot be reached as it is configured: its password or authorities cannot be read.
pub fn service(
    routers: &[RouterSetting],
    environment: Environment,
    passwords: &Passwords,
    folder: PathBuf,
    agent: AgentLink,
) -> Result<Arc<RouterService>, ToolError> {
    let mut configured = Vec::new();
    for router in routers {
        let standing = Standing {
            environment: router.environment,
            tags: router.tags.clone(),
            allow_advanced: router.allow_advanced,
            allow_professional: router.allow_professional,
        };
        let device = device(router, passwords).map_err(|error| error.with("device_id", router.name.as_str()))?;
        configured.push((device, standing));
    }
    let mut service = RouterService::new(Routers::new(configured)?, folder, Arc::new(RootAuthority(agent)));
    service.environment = environment;
    Ok(Arc::new(service))
}
