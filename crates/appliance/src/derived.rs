//! What follows from the identity, in `/run/raspi-mcp-identity`: written anew at each boot, and after a claim. Nothing here is the
//! truth; all of it can be made again from the agent-state area.
//!
//! ```text
//! tls.crt, tls.key       what the server shows                          0640 root:raspi-mcp
//! trust                  the owner's root of trust, where there is one  0640 root:raspi-mcp
//! conf.d/*.toml          settings and hashes of tokens                  0640 root:raspi-mcp
//! state.json             whether it is claimed; its name; what was wrong  0640 root:raspi-mcp
//! claim                  the open claim (super::claim)                  0600 root
//! ```

pub use contract::config::prepared::{FOLDER, Standing};

use super::Identity;
use base::{error::ToolError, os::whole};
use contract::config::prepared::{Prepared, STATE};
use std::{
    fs,
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// The port of an appliance, on all addresses.
pub const PORT: u16 = 8443;

/// The folder, for whoever writes it. [`Prepared`] reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(Prepared);

impl Folder {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(Prepared::at(path))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Where the fragments are that both halves read.
    pub fn fragments(&self) -> PathBuf {
        self.0.fragments()
    }

    /// What was prepared; `None` when nothing was.
    ///
    /// # Errors
    /// Those of [`Prepared::standing`].
    pub fn standing(&self) -> io::Result<Option<Standing>> {
        self.0.standing()
    }

    /// Makes the folder where it is not there, for its owner and the group with the number `group`.
    ///
    /// # Errors
    /// `unavailable` when it cannot be made.
    pub fn make(&self, group: Option<u32>) -> Result<(), ToolError> {
        for folder in [self.path().to_owned(), self.fragments()] {
            let make = || -> io::Result<()> {
                // The unit makes it, with the bit that gives its group to what is made in it: neither half may give anything away there,
                // nor set that bit. So nothing is tried that is so already.
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

    /// Writes everything that follows from an identity, each file in one step, `state.json` last. An open claim of a machine that has an
    /// owner by then is closed. The folder has to be there.
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
        self.put("conf.d/10-settings.toml", Some(&self.settings(identity)))?;
        self.put("conf.d/20-tokens.toml", Some(&tokens(identity)))?;
        let standing = Standing {
            claimed: identity.claimed,
            name: identity.name.clone(),
            fingerprint: identity.fingerprint().map(|fingerprint| fingerprint.to_string()),
            faults: faults.to_vec(),
        };
        let text = serde_json::to_string(&standing).map_err(|error| self.failed(STATE, &io::Error::other(error)))?;
        self.put(STATE, Some(&format!("{text}\n")))
    }

    /// The settings an identity stands for. Everybody else's come after it, and over it.
    fn settings(&self, identity: &Identity) -> String {
        // JSON's texts and lists of texts are TOML's as well, without DEL, which none of these may have; and its writer is here anyway.
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

    /// One file, readable by the folder's group; none where there is no content.
    fn put(&self, name: &str, content: Option<&str>) -> Result<(), ToolError> {
        let path = self.path().join(name);
        let put = || match content {
            None => whole::remove(&path),
            Some(content) => whole::replace(&path, 0o600, |file| {
                file.write_all(content.as_bytes())?;
                let group = fs::metadata(self.path())?.gid();
                // Nobody is let in before it belongs to the right group; where it does, nothing has to be allowed for that.
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

/// Hashes of tokens, as the configuration reads them.
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
    }
    text
}
