//! A copy of NetworkManager's connections in the agent-state area, so that a machine that loses its data partition can
//! still join its network.

use super::network::data_lost;
use base::os::{Root, whole};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read, Write},
    os::unix::fs::PermissionsExt,
};
use update::slots::StateRecord;

/// NetworkManager's folder for connections made by users and tools.
pub const FOLDER: &str = base::os::network_manager::flush::STORED;
/// The copy's key in [`StateRecord::kept`].
const KEY: &str = "connections";
const ENDING: &str = ".nmconnection";
/// Maximum number of files, bytes of one file and bytes of all files: each write of the record includes them.
const MOST: usize = 32;
const LONGEST: u64 = 16 << 10;
const ALL: usize = 96 << 10;

/// Whether NetworkManager's folder has a connection with that UUID, in a file that NetworkManager takes: readable by
/// nobody but its owner (`nms_keyfile_utils_check_file_permissions_stat`).
pub(crate) fn is_stored(root: &Root, uuid: &str) -> bool {
    file_names(root).unwrap_or_default().iter().any(|name| {
        let path = root.path(FOLDER).join(name);
        let private = |found: fs::Metadata| found.is_file() && found.permissions().mode() & 0o077 == 0;
        let mut bytes = Vec::new();
        fs::symlink_metadata(&path).is_ok_and(private)
            && fs::File::open(&path).and_then(|file| file.take(LONGEST).read_to_end(&mut bytes)).is_ok()
            && String::from_utf8_lossy(&bytes).lines().any(|line| {
                line.split_once('=').is_some_and(|(key, value)| key.trim() == "uuid" && value.trim() == uuid)
            })
    })
}

/// Connections by file name. There is no debug form, because it would show secrets.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "tuple struct Connections")]
pub struct SavedConnections(BTreeMap<String, String>);

impl SavedConnections {
    /// The connections of the machine, and what was left out. Empty if NetworkManager has no folder.
    ///
    /// # Errors
    /// Those of reading; the connections are then unknown.
    pub fn read(root: &Root) -> io::Result<(Self, Vec<String>)> {
        let (mut found, mut faults, mut all) = (BTreeMap::new(), Vec::new(), 0);
        for name in file_names(root)? {
            let path = root.path(FOLDER).join(&name);
            // NetworkManager deletes a connection of /run or /usr by a link to nowhere.
            if !fs::symlink_metadata(&path)?.is_file() {
                continue;
            }
            let mut text = String::new();
            let read = fs::File::open(&path)?.take(LONGEST + 1).read_to_string(&mut text);
            all += text.len();
            let why = match read {
                Err(error) if error.kind() != io::ErrorKind::InvalidData => return Err(error),
                Err(_) => "is no text",
                // What a power failure leaves of a file that was never flushed.
                Ok(_) if text.bytes().all(|byte| byte == 0) => "is empty, since the power failed when it was new",
                Ok(_) if text.len() as u64 > LONGEST => "has more than 16 KiB",
                Ok(_) if all > ALL || found.len() == MOST => "is more than what is kept: 32 files of 96 KiB in all",
                Ok(_) => {
                    found.insert(name, text);
                    continue;
                }
            };
            faults.push(format!("no copy is kept of the connection {name}: it {why}"));
        }
        Ok((Self(found), faults))
    }

    /// The copy in a state.
    pub fn kept(state: &StateRecord) -> Self {
        state.kept.get(KEY).and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
    }

    /// The state with these connections as its copy; `None` if they are the copy already. Connections on a machine
    /// without its data partition do not replace the owner's.
    pub fn to_keep(&self, root: &Root, state: &StateRecord) -> Option<StateRecord> {
        if *self == Self::kept(state) || data_lost(root).is_some() {
            return None;
        }
        let mut next = state.clone();
        self.keep(&mut next);
        Some(next)
    }

    /// The files, by name.
    pub fn into_files(self) -> BTreeMap<String, String> {
        self.0
    }

    /// Connections of a backup.
    ///
    /// # Errors
    /// What is wrong with them: a name of a path, or more than is kept.
    pub fn of_files(files: BTreeMap<String, String>) -> Result<Self, String> {
        let sizes = files.values().map(String::len);
        if files.len() > MOST || sizes.clone().sum::<usize>() > ALL || sizes.max() > Some(LONGEST as usize) {
            return Err("it has more connections than 32 files of 16 KiB, 96 KiB in all".into());
        }
        match files.keys().find(|name| !is_file_name(name)) {
            Some(name) => Err(format!("it has a connection with the name {name:?}")),
            None => Ok(Self(files)),
        }
    }

    /// Keeps them in a state.
    pub fn keep(&self, state: &mut StateRecord) {
        // Strings only, so this cannot fail.
        state.kept.insert(KEY.into(), serde_json::to_vec(self).unwrap_or_default());
    }

    pub fn forget(state: &mut StateRecord) {
        state.kept.remove(KEY);
    }

    /// Those that `found` lacks, and of which the folder has nothing but an empty file.
    pub fn emptied(&self, root: &Root, found: &Self) -> Self {
        let lacks = |name: &String| !found.0.contains_key(name) && root.path(FOLDER).join(name).is_file();
        Self(self.0.iter().filter(|(name, _)| lacks(name)).map(|(name, text)| (name.clone(), text.clone())).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes them to NetworkManager's folder, without removing other files. Returns the names written.
    ///
    /// # Errors
    /// Those of writing.
    pub fn restore(&self, root: &Root) -> io::Result<Vec<String>> {
        let folder = root.path(FOLDER);
        fs::create_dir_all(&folder)?;
        for (name, text) in &self.0 {
            // The record is trusted, but must still not name a path outside the folder.
            if !is_file_name(name) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a connection with the name of a path"));
            }
            whole::replace(&folder.join(name), 0o600, |file| file.write_all(text.as_bytes()))?;
        }
        Ok(self.0.keys().cloned().collect())
    }
}

/// The names of the files with connections; none if NetworkManager has no folder.
fn file_names(root: &Root) -> io::Result<Vec<String>> {
    let mut names = match root.list(FOLDER) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        names => names?,
    };
    // Hidden files are still being written.
    names.retain(|name| name.ends_with(ENDING) && !name.starts_with('.'));
    Ok(names)
}

fn is_file_name(name: &str) -> bool {
    !name.contains('/') && name.ends_with(ENDING)
}
