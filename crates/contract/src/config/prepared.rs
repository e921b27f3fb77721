//! The identity that `raspi-mcp prepare` wrote at this boot, as far as the configuration reads it. The crate
//! `appliance` writes it.

use base::os::if_there;
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// The folder on an appliance.
pub const FOLDER: &str = "/run/raspi-mcp-identity";
/// The file with the machine's identity, in JSON: a [`ApplianceState`].
pub const STATE: &str = "state.json";
/// Maximum bytes read from a file in it; the largest is a root of trust.
const LONGEST: u64 = 1 << 20;

/// The folder, for readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedFolder(PathBuf);

/// The content of `state.json`, which everybody may read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "struct Standing")]
pub struct ApplianceState {
    pub claimed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The certificate's fingerprint: `sha256:` and 64 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Problems that a person should know of: a provisioning file that was refused, a record that was lost. Never a
    /// secret.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
}

impl PreparedFolder {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The folder of the fragments that server and agent read.
    pub fn fragments(&self) -> PathBuf {
        self.0.join("conf.d")
    }

    /// What was prepared. `None` if nothing was: this is not an appliance, or `raspi-mcp prepare` did not get that far.
    ///
    /// # Errors
    /// Those of reading; `InvalidData` when the content is not what this program writes.
    pub fn standing(&self) -> io::Result<Option<ApplianceState>> {
        let Some(bytes) = read(&self.0.join(STATE))? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

/// Reads a small file; `None` if it is missing.
///
/// # Errors
/// Those of opening and reading it.
pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = if_there(File::open(path))? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}
