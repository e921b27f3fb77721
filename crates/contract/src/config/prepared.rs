//! What `raspi-mcp prepare` wrote at this boot of whose machine this is, as far as the configuration reads it. The appliance writes it.

use base::os::if_there;
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Where it is on an appliance.
pub const FOLDER: &str = "/run/raspi-mcp-identity";
/// The file that says who the machine is, in JSON: a [`Standing`].
pub const STATE: &str = "state.json";
/// Longest file in it, in bytes: a root of trust.
const LONGEST: u64 = 1 << 20;

/// The folder, for whoever reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared(PathBuf);

/// What `state.json` says, for whoever may read it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    pub claimed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Of the certificate, `sha256:` and 64 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// What a person should know: a provisioning file that was not taken, a record that was lost. Never a secret.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
}

impl Prepared {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Where the fragments are that both halves read.
    pub fn fragments(&self) -> PathBuf {
        self.0.join("conf.d")
    }

    /// What was prepared; `None` when nothing was: this is no appliance, or `raspi-mcp prepare` did not get so far.
    ///
    /// # Errors
    /// Those of reading; `InvalidData` when it is not what this program writes.
    pub fn standing(&self) -> io::Result<Option<Standing>> {
        let Some(bytes) = read(&self.0.join(STATE))? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

/// A small file; `None` when there is none.
///
/// # Errors
/// Those of opening and reading it.
pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = if_there(File::open(path))? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}
