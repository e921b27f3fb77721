//! Files derived from the identity, in `/run/raspi-mcp-identity`: written at each boot, and after a claim. All of them
//! can be created again from the agent-state area.
//!
//! ```text
//! tls.crt, tls.key       the server's certificate and its key          0640 root:raspi-mcp
//! fleet-*.pem            key, certificate and authority of a fleet     0640 root:raspi-mcp
//! trust                  the owner's root of trust, if there is one    0640 root:raspi-mcp
//! conf.d/*.toml          settings and hashes of tokens                 0640 root:raspi-mcp
//! state.json             whether it is claimed, its name, and faults   0640 root:raspi-mcp
//! claim                  the open claim (super::claim)                 0600 root
//! device                 the ID of the agent's key, by the agent       0640 root:raspi-mcp
//! ```

pub use contract::config::prepared::{ApplianceState, FOLDER};

use super::Identity;
use base::{error::ToolError, os::whole};
use contract::config::prepared::{PreparedFolder, STATE, read};
use std::{
    fs,
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// The HTTPS port of an appliance, on all addresses.
pub const PORT: u16 = 8443;

/// The file with the device's ID.
const DEVICE: &str = "device";

/// The folder, for writing. [`PreparedFolder`] reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(PreparedFolder);

impl Folder {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(PreparedFolder::at(path))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The folder of the fragments that server and agent read.
    pub fn fragments(&self) -> PathBuf {
        self.0.fragments()
    }

    /// What was prepared; `None` if nothing was.
    ///
    /// # Errors
    /// Those of [`PreparedFolder::standing`].
    pub fn standing(&self) -> io::Result<Option<ApplianceState>> {
        self.0.standing()
    }

    /// The device's ID, if the agent has written it: SHA-256 of its key, in 64 hexadecimal digits.
    pub fn device(&self) -> Option<String> {
        String::from_utf8(read(&self.path().join(DEVICE)).ok()??).ok().filter(|id| id.len() == 64)
    }

    /// Writes the device's ID, for the screen that shows a code.
    ///
    /// # Errors
    /// `unavailable` when the file cannot be written.
    pub fn put_device(&self, id: &str) -> Result<(), ToolError> {
        if self.device().as_deref() == Some(id) { Ok(()) } else { self.put(DEVICE, Some(id)) }
    }

    /// Creates the folder if it is missing, for its owner and the group with the number `group`.
    ///
    /// # Errors
    /// `unavailable` when it cannot be created.
    pub fn make(&self, group: Option<u32>) -> Result<(), ToolError> {
        for folder in [self.path().to_owned(), self.fragments()] {
            let make = || -> io::Result<()> {
                // The unit creates it with the setgid bit. Neither server nor agent may change owners there or set that
                // bit, so only what differs is changed.
                fs::DirBuilder::new().recursive(true).mode(0o750).create(&folder)?;
                let about = fs::metadata(&folder)?;
                if let Some(group) = group.filter(|group| about.gid() != *group) {
                    std::os::unix::fs::lchown(&folder, None, Some(group))?;
                }
                if about.mode() & 0o777 == 0o750 {
                    return Ok(());
                }
                fs::set_permissions(&folder, fs::Permissions::from_mode(0o750))
            };
            make().map_err(|error| self.failed(&folder.display().to_string(), &error))?;
        }
        Ok(())
    }

    /// Writes all files derived from an identity, each atomically, `state.json` last. If the machine has an owner by
    /// then, an open claim is closed. The folder must exist.
    ///
    /// # Errors
    /// `unavailable` when a file cannot be written.
    pub fn write(&self, identity: &Identity, faults: &[String]) -> Result<(), ToolError> {
        if identity.claimed {
            self.close_claim()?;
        }
        let (key, certificate) = (identity.key.as_deref(), identity.certificate.as_deref());
        self.put("tls.key", key)?;
        self.put("tls.crt", certificate)?;
        self.put("trust", identity.update.trust.as_deref())?;
        self.write_fleet(identity)?;
        self.put("conf.d/10-settings.toml", Some(&self.settings(identity)))?;
        self.put("conf.d/20-tokens.toml", Some(&tokens(identity)))?;
        let standing = ApplianceState {
            claimed: identity.claimed,
            name: identity.name.clone(),
            fingerprint: identity.fingerprint().map(|fingerprint| fingerprint.to_string()),
            faults: faults.to_vec(),
        };
        let text = serde_json::to_string(&standing).map_err(|error| self.failed(STATE, &io::Error::other(error)))?;
        self.put(STATE, Some(&format!("{text}\n")))
    }

    /// Writes what a member of a fleet has, its settings last.
    ///
    /// # Errors
    /// `unavailable` when a file cannot be written.
    pub fn write_fleet(&self, identity: &Identity) -> Result<(), ToolError> {
        let member = identity.fleet.member.as_ref();
        self.put("fleet-key.pem", member.map(|member| member.key.as_str()))?;
        self.put("fleet-certificate.pem", member.map(|member| member.certificate.as_str()))?;
        self.put("fleet-ca.pem", member.map(|member| member.ca.as_str()))?;
        self.put("conf.d/30-fleet.toml", member.map(|member| member.settings.as_str()))
    }

    /// The settings derived from an identity. All other sources except the image override them.
    fn settings(&self, identity: &Identity) -> String {
        // JSON strings and lists of them are also valid TOML, except for DEL, which none of these can contain.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let list = |items: &[String]| serde_json::Value::from(items).to_string();
        let mut text = String::from(
            "# Written by `raspi-mcp prepare` at each start. Settings of your own go to /etc/raspi-mcp.\n",
        );
        if identity.has_key() {
            text.push_str(&format!("\n[http]\nlisten = \"[::]:{PORT}\"\n"));
            if let Some(name) = &identity.name {
                text.push_str(&format!("allowed_hosts = {}\n", list(&[name.clone(), format!("{name}.local")])));
            }
            let file = |name: &str| quoted(&self.path().join(name).display().to_string());
            let (certificate, key) = (file("tls.crt"), file("tls.key"));
            text.push_str(&format!("\n[tls]\nenabled = true\ncertificate = {certificate}\nkey = {key}\n"));
        }
        let update = &identity.update;
        let mut lines = String::new();
        for (key, value) in [("channel", &update.channel), ("url", &update.url)] {
            lines.extend(value.iter().map(|value| format!("{key} = {}\n", quoted(value))));
        }
        if !update.mirrors.is_empty() {
            lines.push_str(&format!("mirrors = {}\n", list(&update.mirrors)));
        }
        if update.trust.is_some() {
            lines.push_str(&format!("trust = {}\n", quoted(&self.path().join("trust").display().to_string())));
        }
        if !lines.is_empty() {
            text.push_str(&format!("\n[update]\n{lines}"));
        }
        text
    }

    /// Writes one file, readable by the folder's group; removes it if there is no content.
    fn put(&self, name: &str, content: Option<&str>) -> Result<(), ToolError> {
        let path = self.path().join(name);
        let put = || match content {
            None => whole::remove(&path),
            Some(content) => whole::replace(&path, 0o600, |file| {
                file.write_all(content.as_bytes())?;
                let group = fs::metadata(self.path())?.gid();
                // The group gets access only after the file belongs to it. If it already does, no right to change it is
                // needed.
                if file.metadata()?.gid() != group {
                    std::os::unix::fs::fchown(&*file, None, Some(group))?;
                }
                file.set_permissions(fs::Permissions::from_mode(0o640))
            }),
        };
        put().map_err(|error| self.failed(name, &error))
    }

    pub(super) fn failed(&self, name: &str, error: &io::Error) -> ToolError {
        let path = self.path().join(name).display().to_string();
        ToolError::unavailable(format!("{path} cannot be used: {error}"))
            .with("path", path)
            .hint("it is made by raspi-mcp-prepare.service at each start; restart the machine")
    }
}

/// The hashes of tokens, in the form of the configuration.
fn tokens(identity: &Identity) -> String {
    let mut text = String::from("# Written by `raspi-mcp prepare` at each start.\n");
    for token in &identity.tokens {
        let (name, hash, role) = (&token.name, token.sha256.hex(), token.role.name());
        text.push_str(&format!("\n[[access.tokens]]\nname = \"{name}\"\nsha256 = \"{hash}\"\nrole = \"{role}\"\n"));
        if let Some(owner) = &token.owner {
            text.push_str(&format!("owner = \"{owner}\"\n"));
        }
        if let Some(Some(expires)) = token.summary().get("expires").map(|value| value.as_str().map(str::to_owned)) {
            text.push_str(&format!("expires = {expires}\n"));
        }
        if !token.devices.is_empty() {
            text.push_str(&format!("devices = {:?}\n", token.devices));
        }
    }
    text
}
