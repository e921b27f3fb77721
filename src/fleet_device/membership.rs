//! How this machine becomes a member of a fleet: its key and request, and what the owner's answer writes.
//!
//! Files are below the folder of the site's configuration: `fleet/` has key, certificate and authority, `60-fleet.toml` the
//! section `[fleet]`. A new key waits in `fleet.new/` until the answer to it comes, so that the membership before it goes on.

use crate::tls::client_certificate;
use base::{
    error::ToolError,
    os::{Root, groups, whole},
};
use contract::config::SERVER_USER;
use fleet_protocol::enrolment::Membership;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::{
    fs::{self, DirBuilder},
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

/// The section of a member.
const FRAGMENT: &str = "60-fleet.toml";

/// The folders of one site.
pub struct MembershipFiles {
    site: PathBuf,
}

impl MembershipFiles {
    pub fn of(site: &Path) -> Self {
        Self { site: site.to_owned() }
    }

    fn folder(&self) -> PathBuf {
        self.site.join("fleet")
    }

    fn new_folder(&self) -> PathBuf {
        self.site.join("fleet.new")
    }

    /// Makes a key for a request, in place of one that waits for an answer. Returns its public half: DER of the
    /// SubjectPublicKeyInfo.
    ///
    /// # Errors
    /// `unavailable` when the folder cannot be written.
    pub fn make_key(&self) -> Result<Vec<u8>, ToolError> {
        let key = appliance::certificate::connection_key()?;
        let folder = self.new_folder();
        self.make(&folder)?;
        put(&folder.join("key.pem"), key.secret.as_bytes(), 0o640)?;
        Ok(key.public)
    }

    /// Takes the owner's answer. The membership counts from the next start of agent and server.
    ///
    /// # Errors
    /// `invalid_argument` for an answer that does not go with this machine's key: then nothing has changed;
    /// `failed_precondition` when no request was made; `unavailable` when a file cannot be written.
    pub fn join(&self, membership: &Membership) -> Result<(), ToolError> {
        membership.check()?;
        let (folder, new) = (self.folder(), self.new_folder());
        let key = fs::read_to_string(folder.join("key.pem"));
        // A certificate that was renewed, for the same key, also while a newer request waits.
        let renewed = key.as_ref().is_ok_and(|key| appliance::certificate::is_for(&membership.certificate, key));
        if renewed || !new.join("key.pem").exists() {
            let key = key.map_err(|_| {
                ToolError::precondition("this machine has made no request to join a fleet")
                    .hint("make one first: raspi-mcp fleet enroll --name NAME --out request")
            })?;
            self.make(&new)?;
            put(&new.join("key.pem"), key.as_bytes(), 0o640)?;
        }
        put(&new.join("ca.pem"), membership.ca.as_bytes(), 0o644)?;
        put(&new.join("certificate.pem"), membership.certificate.as_bytes(), 0o644)?;
        let [ca, certificate, key] = ["ca.pem", "certificate.pem", "key.pem"].map(|name| new.join(name));
        client_certificate::check(&ca, &certificate, &key)?;
        let swap = || -> io::Result<()> {
            match renameat_with(CWD, &new, CWD, &folder, RenameFlags::EXCHANGE) {
                Ok(()) => fs::remove_dir_all(&new),
                Err(rustix::io::Errno::NOENT) => fs::rename(&new, &folder),
                Err(error) => Err(error.into()),
            }
        };
        swap().map_err(|error| failed(&folder, &error))?;
        let text = membership.fragment(&format!("{}/", folder.display()));
        put(&self.site.join(FRAGMENT), text.as_bytes(), 0o644)
    }

    fn make(&self, folder: &Path) -> Result<(), ToolError> {
        let made = DirBuilder::new().recursive(true).mode(0o755).create(folder);
        made.map_err(|error| failed(folder, &error))
    }
}

/// Writes a file that the server's group may read.
fn put(path: &Path, bytes: &[u8], mode: u32) -> Result<(), ToolError> {
    let group = rustix::process::geteuid().is_root().then(|| groups::user_ids(&Root::system(), SERVER_USER)).flatten();
    let written = whole::replace(path, mode, |file| {
        file.write_all(bytes)?;
        match group {
            Some((_, gid)) => std::os::unix::fs::fchown(&*file, None, Some(gid)),
            None => Ok(()),
        }
    });
    written.map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &io::Error) -> ToolError {
    ToolError::unavailable(format!("{} cannot be written: {error}", path.display())).hint("run it as root")
}
