//! Collects a backup, in the half that has root.

use super::{
    Backup, PURPOSE, SavedFile, SavedFiles,
    files::{AGENT_FILES, ALL, LONGEST, MOST, is_site_path},
};
use crate::{connections::SavedConnections, device_key, generation, halt, identity, revoked::Revoked, timezone, words};
use base::{
    base64url,
    error::ToolError,
    os::{Root, host_name},
};
use contract::halt::Halted;
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::PermissionsExt,
    path::Path,
};
use update::slots::StateRecord;

/// What a machine is without its identity.
const PLAIN: [&str; 3] = ["name", "wifi", "update"];
/// What belongs to one start only.
const PASSING: [&str; 2] = ["approvers", "erasing"];
/// A file with this is a part of who the machine is.
const PRIVATE_KEY: &str = "PRIVATE KEY-----";
/// Where a machine without slots keeps the agent's key, in the agent's folder.
const DEVICE_KEY: &str = "device.key";

/// Where a backup comes from.
pub struct BackupSource<'a> {
    /// The agent state; the default one on a machine without slots.
    pub state: &'a StateRecord,
    /// Replaces `/`.
    pub root: &'a Root,
    /// `/etc/raspi-mcp`.
    pub site: &'a Path,
    /// The agent's folder.
    pub agent: &'a Path,
    /// The product of this machine's images.
    pub product: &'a str,
    /// The device's ID.
    pub device: &'a str,
    /// Milliseconds since 1970 UTC.
    pub now_ms: i64,
}

/// The backup, and a sentence for each thing that is not in it. With `identity`, the machine that it is restored on is the
/// same device for its clients.
///
/// # Errors
/// `unavailable` for a file or folder that cannot be read: nothing is left out without a word.
pub fn collect(source: &BackupSource<'_>, identity: bool) -> Result<(Backup, Vec<String>), ToolError> {
    let state = source.state;
    let mut left_out = Vec::new();
    let failed = |what: &Path, error: io::Error| {
        ToolError::unavailable(format!("{} cannot be read for the backup: {error}", what.display()))
            .hint("check the card, and the permissions of the file")
    };
    let mut files = SavedFiles {
        agent: agent_files(source.agent).map_err(|error| failed(source.agent, error))?,
        ..SavedFiles::default()
    };
    let mut room = ALL - files.agent.values().map(|file| file.text.len()).sum::<usize>().min(ALL);
    let mut site = Site { identity, files: BTreeMap::new(), left_out: &mut left_out, room: &mut room };
    site.folder(source.site, "").map_err(|error| failed(source.site, error))?;
    files.site = site.files;
    let found = match SavedConnections::read(source.root) {
        Ok((found, without)) => {
            left_out.extend(without);
            found
        }
        Err(error) => {
            left_out.push(format!("not in the backup: NetworkManager's connections cannot be read: {error}"));
            SavedConnections::default()
        }
    };
    let connections = if found.is_empty() { SavedConnections::kept(state) } else { found };
    let backup = Backup {
        purpose: PURPOSE.into(),
        made_ms: source.now_ms,
        version: env!("CARGO_PKG_VERSION").into(),
        product: source.product.into(),
        device: source.device.into(),
        generation: generation::of(state),
        identity: fields(source, identity),
        device_key: if identity { key_of(source).map(|der| base64url::encode(&der)) } else { None },
        roots: if identity { state.roots.clone() } else { Vec::new() },
        counter_floor: state.counter_floor,
        revoke_below: state.revoke_below,
        committed_time: state.committed_time,
        // One that cannot be read counts as a halt, as for the agent.
        halt: halt::kept(state).map_or_else(
            |why| contract::halt::HaltState {
                halted: Some(Halted::unreadable("the recorded halt", &why, source.now_ms)),
                lifted: None,
            },
            Option::unwrap_or_default,
        ),
        revoked: Revoked::of(state),
        timezone: timezone::kept(state),
        connections: connections.into_files(),
        files,
    };
    Ok((backup, left_out))
}

/// The fields of the identity that are kept, and the host name that the owner gave later.
fn fields(source: &BackupSource<'_>, identity: bool) -> Map<String, Value> {
    let recorded = source.state.kept.get(identity::KEY).and_then(|bytes| serde_json::from_slice(bytes).ok());
    let mut fields: Map<String, Value> = recorded.unwrap_or_default();
    fields.retain(|name, _| if identity { !PASSING.contains(&&**name) } else { PLAIN.contains(&&**name) });
    let given = host_name::kept(source.root).filter(|name| words::host(name) && !crate::network::is_default_name(name));
    fields.extend(given.map(|name| ("name".to_owned(), Value::from(name))));
    fields
}

fn key_of(source: &BackupSource<'_>) -> Option<Vec<u8>> {
    device_key::kept(source.state).cloned().or_else(|| fs::read(source.agent.join(DEVICE_KEY)).ok())
}

fn agent_files(folder: &Path) -> io::Result<BTreeMap<String, SavedFile>> {
    let mut found = BTreeMap::new();
    for name in AGENT_FILES {
        match text(&folder.join(name)) {
            Ok(Ok(file)) => drop(found.insert(name.to_owned(), file)),
            Ok(Err(why)) => return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{name} {why}"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// The site's folder while it is read.
struct Site<'a> {
    identity: bool,
    files: BTreeMap<String, SavedFile>,
    left_out: &'a mut Vec<String>,
    /// Bytes that are left.
    room: &'a mut usize,
}

impl Site<'_> {
    fn folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let mut names: Vec<_> = entries.map(|entry| entry.map(|entry| entry.file_name())).collect::<io::Result<_>>()?;
        base::sort::sort(&mut names);
        for name in names {
            let path = format!("{prefix}{}", name.to_string_lossy());
            let about = fs::symlink_metadata(folder.join(&name))?;
            let why = if about.is_dir() && prefix.is_empty() && is_site_path(&path) {
                self.folder(&folder.join(&name), &format!("{path}/"))?;
                continue;
            } else if !about.is_file() {
                Some("is no plain file".to_owned())
            } else if !is_site_path(&path) {
                Some("has a name that is not kept".to_owned())
            } else if self.files.len() == MOST - AGENT_FILES.len() {
                Some(format!("is more than what is kept: {MOST} files"))
            } else {
                self.file(&folder.join(&name), &path)?
            };
            self.left_out.extend(why.map(|why| format!("not in the backup: {path} {why}")));
        }
        Ok(())
    }

    /// Keeps one file, or says why not.
    fn file(&mut self, at: &Path, path: &str) -> io::Result<Option<String>> {
        let file = match text(at)? {
            Ok(file) => file,
            Err(why) => return Ok(Some(why)),
        };
        if file.text.len() > *self.room {
            return Ok(Some(format!("is more than what is kept: {} KiB", ALL >> 10)));
        }
        if !self.identity && file.text.contains(PRIVATE_KEY) {
            return Ok(Some("has a private key, which comes with the identity only".to_owned()));
        }
        *self.room -= file.text.len();
        self.files.insert(path.to_owned(), file);
        Ok(None)
    }
}

/// A text of at most [`LONGEST`] bytes, or why it is none.
fn text(path: &Path) -> io::Result<Result<SavedFile, String>> {
    let mut text = String::new();
    let mut file = File::open(path)?;
    let mode = file.metadata()?.permissions().mode() & 0o755;
    Ok(match file.by_ref().take(LONGEST as u64 + 1).read_to_string(&mut text) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err("is no text".to_owned()),
        Err(error) => return Err(error),
        Ok(_) if text.len() > LONGEST => Err(format!("has more than {} KiB", LONGEST >> 10)),
        Ok(_) => Ok(SavedFile { text, mode }),
    })
}
