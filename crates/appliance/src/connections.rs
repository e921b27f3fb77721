//! A copy of NetworkManager's connections in the agent-state area: a machine whose data partition is lost still comes into its network.

use super::network::data_lost;
use base::os::{Root, whole};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read, Write},
};
use update::slots::State;

/// Where NetworkManager keeps what people and tools made.
pub const FOLDER: &str = "etc/NetworkManager/system-connections";
/// Where the copy is in [`State::kept`].
const KEY: &str = "connections";
const ENDING: &str = ".nmconnection";
/// Files, bytes of one and of all of them: each write of the record carries them.
const MOST: usize = 32;
const LONGEST: u64 = 16 << 10;
const ALL: usize = 96 << 10;

/// Connections by the names of their files. Their debug form would show secrets, so there is none.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections(BTreeMap<String, String>);

impl Connections {
    /// Those of the machine, and what was left out. None where NetworkManager has no folder.
    ///
    /// # Errors
    /// Those of reading: then nobody knows which there are.
    pub fn read(root: &Root) -> io::Result<(Self, Vec<String>)> {
        let (mut found, mut faults, mut all) = (BTreeMap::new(), Vec::new(), 0);
        let names = match root.list(FOLDER) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Self::default(), faults)),
            names => names?,
        };
        // Hidden ones are being written.
        for name in names.into_iter().filter(|name| name.ends_with(ENDING) && !name.starts_with('.')) {
            let path = root.path(FOLDER).join(&name);
            // A link to nothing is how NetworkManager forgets a connection of /run or /usr.
            if !fs::symlink_metadata(&path)?.is_file() {
                continue;
            }
            let mut text = String::new();
            let read = fs::File::open(&path)?.take(LONGEST + 1).read_to_string(&mut text);
            all += text.len();
            let why = match read {
                Err(error) if error.kind() != io::ErrorKind::InvalidData => return Err(error),
                Err(_) => "is no text",
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
    pub fn kept(state: &State) -> Self {
        state.kept.get(KEY).and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
    }

    /// The state with these as its copy; `None` when they are the copy already. What there is without the data partition is not what
    /// the owner of the machine wants kept: it takes nothing's place.
    pub fn to_keep(&self, root: &Root, state: &State) -> Option<State> {
        if *self == Self::kept(state) || data_lost(root).is_some() {
            return None;
        }
        let mut next = state.clone();
        // Texts: nothing in them can fail.
        next.kept.insert(KEY.into(), serde_json::to_vec(self).unwrap_or_default());
        Some(next)
    }

    pub fn forget(state: &mut State) {
        state.kept.remove(KEY);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts them where NetworkManager looks; what is there under another name stays. The names written.
    ///
    /// # Errors
    /// Those of writing.
    pub fn restore(&self, root: &Root) -> io::Result<Vec<String>> {
        let folder = root.path(FOLDER);
        fs::create_dir_all(&folder)?;
        for (name, text) in &self.0 {
            // The record is ours, and still nothing of it may leave the folder.
            if name.contains('/') || !name.ends_with(ENDING) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a connection with the name of a path"));
            }
            whole::replace(&folder.join(name), 0o600, |file| file.write_all(text.as_bytes()))?;
        }
        Ok(self.0.keys().cloned().collect())
    }
}
